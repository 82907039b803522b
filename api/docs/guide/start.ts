import { code, h3, p, type Section, table } from "../blocks.ts";
import type { Site } from "../site.ts";

export const start = ({ baseUrl, appUrl }: Site): Section => ({
  id: "start",
  title: "First call",
  body: [
    p(
      `Add credits and create an API key in the [web application](${appUrl}). A key is shown once; a lost key is replaced by a new ` +
        "one. The API follows the common chat-completion convention: an existing client needs a base URL and a key, nothing else.",
    ),
    code(
      "curl",
      `export SERVICE_API_KEY=svc_live_…
curl -i ${baseUrl}/v1/chat/completions \\
  -H "Authorization: Bearer $SERVICE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "qwen3-8b", "messages": [{"role": "user", "content": "Say hello."}]}'`,
    ),
    p("[`GET /v1/models`](/docs/reference#listModels) says what can be asked now, and at which price."),
    h3("Clients you may have"),
    code(
      "openai (JavaScript)",
      `import OpenAI from "openai";

const openai = new OpenAI({ baseURL: "${baseUrl}/v1", apiKey: process.env.SERVICE_API_KEY });
const reply = await openai.chat.completions.create({
  model: "qwen3-8b",
  messages: [{ role: "user", content: "Say hello." }],
});
console.log(reply.choices[0].message.content);`,
    ),
    code(
      "openai (Python)",
      `import os
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=os.environ["SERVICE_API_KEY"])
reply = client.chat.completions.create(
    model="qwen3-8b",
    messages=[{"role": "user", "content": "Say hello."}],
)
print(reply.choices[0].message.content)`,
    ),
    code(
      "ai with @ai-sdk/openai-compatible",
      `import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const service = createOpenAICompatible({
  name: "service",
  baseURL: "${baseUrl}/v1",
  apiKey: process.env.SERVICE_API_KEY,
});
const { text } = await generateText({ model: service("qwen3-8b"), prompt: "Say hello." });`,
    ),
    code(
      "@langchain/openai",
      `import { ChatOpenAI } from "@langchain/openai";

const chat = new ChatOpenAI({
  model: "qwen3-8b",
  apiKey: process.env.SERVICE_API_KEY,
  configuration: { baseURL: "${baseUrl}/v1" },
});
const reply = await chat.invoke("Say hello.");`,
    ),
    h3("What every answer tells in its headers"),
    table([
      ["Header", "Meaning"],
      ["`x-service-credits-remaining`", "your free credits after the request"],
      ["`x-service-job-id`", "the job; `GET /v1/jobs/{job_id}` shows it"],
      ["`x-service-tx-hash`", "the transaction that locked the credits"],
      ["`x-service-settlement-tx`", "the transaction that settled the job; of a stream, an HTTP trailer"],
      ["`x-service-worker`", "the worker's address on the chain"],
      ["`x-request-id`", "names the request in our logs: quote it when you report a fault"],
    ]),
  ].join("\n"),
});
