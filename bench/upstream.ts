/**
 * A model server that answers at once: the load under which a gateway's own cost shows. OpenAI-compatible as far as gateways
 * ask, plain and streamed, 20 pieces of text. Its argument makes each answer take so many milliseconds. Sends its port to its parent, and ends with it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const MODEL = "qwen3-8b";
const DELAY_MS = Number(process.argv[2] ?? 0);
const WORDS =
  "one two three four five six seven eight nine ten eleven twelve one two three four five six seven end".split(" ");
const USAGE = { prompt_tokens: 12, completion_tokens: WORDS.length, total_tokens: 12 + WORDS.length };

const chunk = (delta: object, finish: string | null, more: object = {}) =>
  `data: ${JSON.stringify({
    id: "chatcmpl-upstream",
    object: "chat.completion.chunk",
    created: 1,
    model: MODEL,
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  })}\n\n`;

const STREAM = [
  chunk({ role: "assistant", content: "" }, null),
  ...WORDS.map((word, index) => chunk({ content: index === 0 ? word : ` ${word}` }, null)),
  chunk({}, "stop"),
];
const USAGE_CHUNK = `data: ${JSON.stringify({ id: "chatcmpl-upstream", object: "chat.completion.chunk", created: 1, model: MODEL, choices: [], usage: USAGE })}\n\n`;
const PLAIN = JSON.stringify({
  id: "chatcmpl-upstream",
  object: "chat.completion",
  created: 1,
  model: MODEL,
  choices: [{ index: 0, message: { role: "assistant", content: WORDS.join(" ") }, finish_reason: "stop" }],
  usage: USAGE,
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === "GET") {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", data: [{ id: MODEL, object: "model" }] }));
    return;
  }
  const chunks: Buffer[] = [];
  for await (const part of request) chunks.push(part as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as {
    stream?: boolean;
    stream_options?: { include_usage?: boolean };
  };
  if (DELAY_MS > 0) await sleep(DELAY_MS);
  if (!body.stream) {
    response.setHeader("content-type", "application/json");
    response.end(PLAIN);
    return;
  }
  response.setHeader("content-type", "text/event-stream");
  for (const event of STREAM) response.write(event);
  if (body.stream_options?.include_usage) response.write(USAGE_CHUNK);
  response.end("data: [DONE]\n\n");
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => response.destroy(error));
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit(0));
