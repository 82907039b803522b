/**
 * A receiver of webhooks: verifies the signature over the exact bytes, drops repetitions, answers at once.
 *
 *     WEBHOOK_SECRET=whsec_… PORT=8080 node examples/webhook-receiver.mjs
 *
 * Node 20 or newer runs it as it is; it needs nothing but Node. In production it stands behind a server with TLS.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

/**
 * @typedef {object} WebhookEvent
 * @property {string} id The same for every delivery of the same event.
 * @property {string} event
 * @property {string} created_at
 * @property {string} api_version
 * @property {Record<string, unknown>} data
 */

/** Seconds a signature may be old (or ahead, for clocks that differ). An old request that somebody kept is refused. */
const TOLERANCE_SECONDS = 300;
const MAX_BODY_BYTES = 64 * 1024;

/**
 * Checks `Service-Signature: t=<unix time>,v1=<hex>`: HMAC-SHA256 of `<t>.<body>` keyed with the secret. `body` must be the bytes as they
 * came: JSON that was parsed and written again is another text. Throws with the reason; returns the event.
 *
 * @param {Buffer} body
 * @param {string | undefined} header
 * @param {string} secret
 * @param {number} now Unix seconds.
 * @returns {WebhookEvent}
 */
export function verifyWebhook(body, header, secret, now = Math.floor(Date.now() / 1000)) {
  const match = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header ?? "");
  if (match === null) throw new Error("no usable Service-Signature header");
  const [, timestamp, given] = match;
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
 *
 * @param {string} secret
 * @param {(event: WebhookEvent) => Promise<void>} handle
 */
export function createReceiver(secret, handle) {
  const seen = new Set();
  return createServer((request, response) => {
    receive(request)
      .then((body) => {
        const event = verifyWebhook(body, request.headers["service-signature"], secret);
        response.writeHead(204).end();
        if (seen.has(event.id)) return;
        seen.add(event.id);
        handle(event).catch((error) => {
          // Work that fails after the answer is yours to repeat; forgetting the id lets a replay do it.
          seen.delete(event.id);
          console.error(`event ${event.id} could not be handled:`, error);
        });
      })
      .catch((error) => {
        console.warn(`refused a request: ${error.message}`);
        response.writeHead(400).end(error.message);
      });
  });
}

/** @param {import("node:http").IncomingMessage} request */
async function receive(request) {
  const chunks = [];
  let size = 0;
  // Not destroyed when we stop reading: the connection would be gone before the answer has been read.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
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
