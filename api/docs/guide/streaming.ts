import { code, list, p, type Section } from "../blocks.ts";
import type { Site } from "../site.ts";

export const streaming = ({ baseUrl }: Site): Section => ({
  id: "streaming",
  title: "Streaming",
  body: [
    p("With `stream: true` the answer comes as Server-Sent Events, token by token."),
    code(
      "openai (JavaScript)",
      `const stream = await openai.chat.completions.create({
  model: "qwen3-8b",
  messages: [{ role: "user", content: "Say hello." }],
  stream: true,
  stream_options: { include_usage: true },
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? "");`,
    ),
    code(
      "on the wire",
      `data: {…,"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}

data: {…,"choices":[{"index":0,"delta":{"content":" there."},"finish_reason":null}]}

data: {…,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"service":{…}}

data: [DONE]`,
    ),
    list(
      "The response's headers come with the first token, so that a request that finds no worker is a plain 503 and no broken stream.",
      "Lines that begin with a colon are comments; they keep proxies from closing a silent connection.",
      'A stream that breaks ends with `data: {"error": …}` and without `[DONE]`. Nothing is charged for it.',
      "The settlement's transaction follows as the HTTP trailer `x-service-settlement-tx`; `GET /v1/jobs/{job_id}` has it as well.",
      "If you hang up, the job runs on to its end: you are charged for what the worker generates up to `max_tokens`, and can fetch the answer " +
        "from `GET /v1/jobs/{job_id}/output`.",
      "`finish_reason` is `length` when `max_tokens` cut the answer, otherwise `stop`.",
    ),
    p(`See a trailer with \`curl -N --raw -i ${baseUrl}/v1/chat/completions …\`.`),
  ].join("\n"),
});
