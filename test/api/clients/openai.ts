import OpenAI, { APIError } from "openai";
import { type Connect, jobIdOf, RETRIES } from "./client.ts";

export const openai: Connect = (baseUrl, apiKey) => {
  const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, maxRetries: RETRIES });
  const body = (model: string, content: string) => ({ model, messages: [{ role: "user" as const, content }] });
  return {
    async plain(model, prompt) {
      const { id, choices } = await client.chat.completions.create(body(model, prompt));
      return { text: choices[0]?.message.content ?? "", jobId: jobIdOf(id) };
    },
    async *streamed(model, prompt, signal) {
      const stream = await client.chat.completions.create(
        { ...body(model, prompt), stream: true },
        { signal: signal ?? null },
      );
      for await (const chunk of stream) yield chunk.choices[0]?.delta.content ?? "";
    },
    async refused(model) {
      const error = await client.chat.completions.create(body(model, "Hello")).then(
        () => null,
        (reason: unknown) => reason,
      );
      if (!(error instanceof APIError)) throw new Error("no APIError", { cause: error });
      return { status: error.status as number, code: error.code as string };
    },
    async patient(model, prompt) {
      return (await client.chat.completions.create(body(model, prompt))).choices[0]?.message.content ?? "";
    },
  };
};
