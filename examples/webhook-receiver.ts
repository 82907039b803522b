/**
 * A receiver of webhooks: verifies the signature over the exact bytes, drops repetitions, answers at once.
 *
 *     WEBHOOK_SECRET=whsec_… PORT=8080 node examples/webhook-receiver.ts
 *
 * Node 22.18 or newer runs it as it is; it needs nothing but Node. In production it stands behind a server with TLS.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { fileURLToPath } from "node:url";

export type WebhookEvent = {
  /** The same for every delivery of the same event. */
  id: string;
  event: string;
  created_at: string;
  api_version: string;
  data: Record<string, unknown>;
};

/** Seconds a signature may be old (or ahead, for clocks that differ). An old request that somebody kept is refused. */
const TOLERANCE_SECONDS = 300;
const MAX_BODY_BYTES = 64 * 1024;

/**
 * Checks `Service-Signature: t=<unix time>,v1=<hex>`: HMAC-SHA256 of `<t>.<body>` keyed with the secret. `body` must be the bytes as they
 * came: JSON that was parsed and written again is another text. Throws with the reason; returns the event.
 */
export function verifyWebhook(
  body: Buffer,
  header: string | undefined,
  secret: string,
  now: number = Math.floor(Date.now() / 1000),
): WebhookEvent {
  const match = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header ?? "");
  if (match === null) throw new Error("no usable Service-Signature header");
  const [, timestamp, given] = match as unknown as [string, string, string];
  const expected = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest();
  // In constant time: how long the comparison takes must not tell how much of a guess was right.
  if (!timingSafeEqual(expected, Buffer.from(given, "hex"))) throw new Error("the signature does not match");
  // After the signature: only then is the time what the service said.
  if (Math.abs(now - Number(timestamp)) > TOLERANCE_SECONDS) throw new Error("the signature is too old");
  return JSON.parse(body.toString("utf8"));
}

/**
 * The receiver. `handle` is called once an event id; where that must also hold after a restart, keep the ids where your data is, in the same
 * transaction as what the event changes. It answers before the work is done: an answer must come within ten seconds.
 */
export function createReceiver(secret: string, handle: (event: WebhookEvent) => Promise<void>): Server {
  const seen = new Set<string>();
  return createServer((request, response) => {
    receive(request)
      .then((body) => {
        const event = verifyWebhook(body, request.headers["service-signature"] as string | undefined, secret);
        response.writeHead(204).end();
        if (seen.has(event.id)) return;
        seen.add(event.id);
        handle(event).catch((error) => {
          // Work that fails after the answer is yours to repeat; forgetting the id lets a replay do it.
          seen.delete(event.id);
          console.error(`event ${event.id} could not be handled:`, error);
        });
      })
      .catch((error: Error) => {
        console.warn(`refused a request: ${error.message}`);
        response.writeHead(400).end(error.message);
      });
  });
}

async function receive(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Not destroyed when we stop reading: the connection would be gone before the answer has been read.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error("the body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const secret = process.env["WEBHOOK_SECRET"];
  if (!secret) throw new Error("WEBHOOK_SECRET is not set: it is the secret of the webhook, shown when it was created");
  const port = Number(process.env["PORT"] ?? 8080);
  createReceiver(secret, async (event) => {
    console.log(event.created_at, event.event, event.id, event.data);
  }).listen(port, () => console.log(`waiting for webhooks on port ${port}`));
}
