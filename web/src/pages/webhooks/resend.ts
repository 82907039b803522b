/** A delivery as commands for a shell: the body is signed with the receiver's own secret, which the page does not have. */

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Shell commands that send `body` to `url` again, signed as the service signs it (docs/guide/webhooks.md). */
export const curlOf = (url: string, body: string): string => `body=${quoted(body)}
t=$(date +%s)
v1=$(printf '%s.%s' "$t" "$body" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" -r | cut -d' ' -f1)
curl -i ${quoted(url)} \\
  -H 'Content-Type: application/json' \\
  -H "Service-Signature: t=$t,v1=$v1" \\
  --data-binary "$body"`;
