/** A chat request as code to paste: the service's own address is in it, a key is not. Pure but for that address. */
import { app } from "../data/app.ts";

/** The body of a request, as the API takes it. */
export type SampleBody = { model: string; messages: readonly { role: string; content: string }[] } & Record<
  string,
  unknown
>;

/** By the name of its language. */
export function samplesOf(body: SampleBody): Record<string, string> {
  const base = `${app.base_url}/v1`;
  const { stream, ...rest } = body;
  const isStream = stream === true;
  return {
    curl: `curl ${isStream ? "-N " : ""}${base}/chat/completions \\
  -H "Authorization: Bearer $SERVICE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`,
    Python: `import os
from openai import OpenAI

client = OpenAI(base_url="${base}", api_key=os.environ["SERVICE_API_KEY"])
reply = client.chat.completions.create(
${argumentsOf(rest, isStream)})
${isStream ? 'for chunk in reply:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="")' : "print(reply.choices[0].message.content)"}`,
    JavaScript: `import OpenAI from "openai";

const openai = new OpenAI({ baseURL: "${base}", apiKey: process.env.SERVICE_API_KEY });
const reply = await openai.chat.completions.create(${JSON.stringify(body, null, 2).replace(/^(\s*)"(\w+)":/gm, "$1$2:")});
${isStream ? 'for await (const chunk of reply) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");' : "console.log(reply.choices[0].message.content);"}`,
  };
}

const argumentsOf = (body: object, isStream: boolean): string =>
  [...Object.entries(body), ...(isStream ? [["stream", true] as const] : [])]
    .map(([name, value]) => `    ${name}=${asPython(value, 4)},\n`)
    .join("");

/** A JSON value as Python writes it. */
function asPython(value: unknown, indent: number): string {
  const room = " ".repeat(indent + 4);
  const end = " ".repeat(indent);
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) {
    return `[\n${value.map((one) => `${room}${asPython(one, indent + 4)},\n`).join("")}${end}]`;
  }
  if (typeof value === "object") {
    return `{${Object.entries(value)
      .map(([name, one]) => `${JSON.stringify(name)}: ${asPython(one, indent)}`)
      .join(", ")}}`;
  }
  // A JSON string is a Python string: but for surrogates, which JSON does not escape.
  return JSON.stringify(value);
}
