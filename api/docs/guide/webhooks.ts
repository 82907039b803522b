import { code, list, p, type Section } from "../blocks.ts";
import type { Site } from "../site.ts";

export const webhooks = ({ baseUrl }: Site): Section => ({
  id: "webhooks",
  title: "Webhooks",
  body: [
    p(
      "An HTTPS endpoint of yours can receive events: jobs, credits, workers. See [the events and their data](/docs/reference#events).",
    ),
    code(
      "create one",
      `curl ${baseUrl}/v1/webhooks -H "Authorization: Bearer $SERVICE_API_KEY" -H "Content-Type: application/json" \\
  -d '{"url": "https://your-host.test/hook", "events": ["job.completed", "credit.low"], "secret": "a-long-random-secret"}'`,
    ),
    list(
      "Without a `secret` one is made; it is in this answer and nowhere else.",
      "Answer with any 2xx within 10 seconds. Otherwise the delivery is tried again after 30 seconds, 5 minutes, 30 minutes and 2 hours.",
      "After the fifth failed attempt the webhook's status is `failed` and nothing more is sent. The web application shows failed " +
        "deliveries and sends them again on request.",
      "A delivery can arrive more than once: its `id` is always the same, so remember the ids you have seen.",
      "Addresses that are not public, and redirects, are not followed.",
    ),
    p(
      "Each delivery is signed: `Service-Signature: t=<unix_timestamp>,v1=<hex>`, where `v1` is the HMAC-SHA256 of `<t>.<raw body>` keyed with " +
        "your secret. Verify the bytes as they came, before any JSON parser, and compare in constant time.",
    ),
    code(
      "Node (Express)",
      `import { createHmac, timingSafeEqual } from "node:crypto";

app.post("/hook", express.raw({ type: "application/json" }), (request, response) => {
  const [, t, v1] = /^t=(\\d+),v1=([0-9a-f]{64})$/.exec(request.get("service-signature") ?? "") ?? [];
  const expected = createHmac("sha256", SECRET).update(\`\${t}.\`).update(request.body).digest();
  const isOurs = v1 !== undefined && timingSafeEqual(expected, Buffer.from(v1, "hex"));
  const isFresh = Math.abs(Date.now() / 1000 - Number(t)) < 300;
  if (!isOurs || !isFresh) return response.sendStatus(400);
  const { id, event, data } = JSON.parse(request.body);
  response.sendStatus(204);
});`,
    ),
    code(
      "Python",
      `import hashlib, hmac, re

def is_ours(header: str, body: bytes, secret: str) -> bool:
    match = re.fullmatch(r"t=(\\d+),v1=([0-9a-f]{64})", header)
    if not match:
        return False
    expected = hmac.new(secret.encode(), match[1].encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, match[2])`,
    ),
  ].join("\n"),
});
