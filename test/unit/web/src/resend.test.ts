/** "Resend as curl", run by a shell: the receiver gets the very body, signed with its secret. */
import { execFile } from "node:child_process";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { curlOf } from "../../../../web/src/pages/webhooks/resend.ts";
import { signatureHeader } from "../../../../webhooks/attempt.ts";
import { serve } from "../../support/serve.ts";

const SECRET = `a'secret "with" $HOME and spaces`;
// What a shell, or printf, could take for something else.
const BODY = `{"event":"job.completed","data":{"note":"it's $HOME \`id\` %s \\\\n \\"quoted\\" – ✓"}}`;

it("sends the body as it is, with a signature of now", async () => {
  let received: { body: string; signature: string; type: string | undefined } | undefined;
  const url = await serve(async (request, response) => {
    const { "service-signature": signature, "content-type": type } = request.headers;
    received = { body: await text(request), signature: String(signature), type };
    response.end("ok");
  });
  const env = { ...process.env, WEBHOOK_SECRET: SECRET };
  const { stdout } = await promisify(execFile)("sh", ["-c", curlOf(`${url}/hook?a=1&b='2'`, BODY)], { env });
  expect(stdout).toMatch(/200 OK/);
  expect(received).toMatchObject({ body: BODY, type: "application/json" });
  const time = Number(/^t=(\d+),/.exec(received?.signature ?? "")?.[1]);
  expect(Math.abs(Date.now() / 1_000 - time)).toBeLessThan(60);
  expect(received?.signature).toBe(signatureHeader(SECRET, time, BODY));
});
