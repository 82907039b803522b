/** Stock clients of the API that a service like this one has: three SDKs and curl. */

import { type ChildProcess, spawn } from "node:child_process";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ChatOpenAI } from "@langchain/openai";
import { APICallError, generateText, streamText } from "ai";
import OpenAI, { APIError } from "openai";

/** A stock client as its users drive it: nothing is changed but base URL and key. */
export type StockClient = {
  /** The text of a plain reply, and the job it came from. */
  plain: (model: string, prompt: string) => Promise<{ text: string; jobId: string }>;
  /** Pieces of a streamed reply as they come. Ends, without a text that is not there, when `signal` aborts. */
  streamed: (model: string, prompt: string, signal?: AbortSignal) => AsyncIterable<string>;
  /** Status and error code that the client reports for a request that is refused. */
  refused: (model: string) => Promise<{ status: number; code: string }>;
  /** The same as `plain`, with the client's own retries. */
  patient: (model: string, prompt: string) => Promise<string>;
};

/** `fetch`: what sends its requests, where the client takes one. */
type Connect = (baseUrl: string, apiKey: string, fetch?: typeof globalThis.fetch) => StockClient;

const RETRIES = 10;

const jobIdOf = (completionId: string) => completionId.replace("chatcmpl-", "");

const openai: Connect = (baseUrl, apiKey, fetch) => {
  const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, maxRetries: RETRIES, ...(fetch && { fetch }) });
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

const ai: Connect = (baseUrl, apiKey, fetch) => {
  const settings = { name: "service", baseURL: `${baseUrl}/v1`, apiKey, includeUsage: true };
  const service = createOpenAICompatible({ ...settings, ...(fetch && { fetch }) });
  return {
    async plain(model, prompt) {
      const { text, response } = await generateText({ model: service(model), prompt });
      return { text, jobId: response.headers?.["x-service-job-id"] ?? "" };
    },
    async *streamed(model, prompt, signal) {
      const result = streamText({
        model: service(model),
        prompt,
        ...(signal && { abortSignal: signal }),
        onError: () => {},
      });
      for await (const part of result.fullStream) {
        if (part.type === "error") throw part.error;
        if (part.type === "text-delta") yield part.text;
      }
    },
    async refused(model) {
      const error = await generateText({ model: service(model), prompt: "Hello", maxRetries: 0 }).then(
        () => null,
        (reason: unknown) => reason,
      );
      if (!APICallError.isInstance(error)) throw new Error("no APICallError", { cause: error });
      return { status: error.statusCode as number, code: JSON.parse(error.responseBody ?? "{}").error.code };
    },
    async patient(model, prompt) {
      return (await generateText({ model: service(model), prompt, maxRetries: RETRIES })).text;
    },
  };
};

const langchain: Connect = (baseUrl, apiKey, fetch) => {
  const chat = (model: string, maxRetries = 0) =>
    new ChatOpenAI({ model, apiKey, maxRetries, configuration: { baseURL: `${baseUrl}/v1`, ...(fetch && { fetch }) } });
  return {
    async plain(model, prompt) {
      const message = await chat(model).invoke(prompt);
      return { text: message.text, jobId: jobIdOf(message.id ?? "") };
    },
    async *streamed(model, prompt, signal) {
      const stream = await chat(model).stream(prompt, signal ? { signal } : {});
      for await (const chunk of stream) yield chunk.text;
    },
    async refused(model) {
      const error = await chat(model)
        .invoke("Hello")
        .then(
          () => null,
          (reason: unknown) => reason,
        );
      const { status, error: body, code } = error as { status: number; code?: string; error?: { code: string } };
      return { status, code: code ?? body?.code ?? "" };
    },
    async patient(model, prompt) {
      return (await chat(model, RETRIES).invoke(prompt)).text;
    },
  };
};

const curl: Connect = (baseUrl, apiKey) => {
  const start = (model: string, prompt: string, more: object, ...flags: string[]): ChildProcess =>
    spawn("curl", [
      ...["-sS", `${baseUrl}/v1/chat/completions`, "-H", `Authorization: Bearer ${apiKey}`],
      ...["-H", "Content-Type: application/json", ...flags],
      ...["-d", JSON.stringify({ model, messages: [{ role: "user", content: prompt }], ...more })],
    ]);
  const output = async (process: ChildProcess): Promise<string> => {
    let text = "";
    for await (const piece of process.stdout ?? []) text += piece;
    return text;
  };
  return {
    async plain(model, prompt) {
      const { id, choices } = JSON.parse(await output(start(model, prompt, {})));
      return { text: choices[0].message.content, jobId: jobIdOf(id) };
    },
    async *streamed(model, prompt, signal) {
      const process = start(model, prompt, { stream: true }, "-N");
      signal?.addEventListener("abort", () => process.kill());
      let buffer = "";
      for await (const piece of process.stdout ?? []) {
        buffer += piece;
        const events = buffer.split("\n\n");
        buffer = events.pop() ?? "";
        for (const event of events) {
          if (event.startsWith("data: {")) yield JSON.parse(event.slice(6)).choices[0].delta.content ?? "";
        }
      }
    },
    async refused(model) {
      const text = await output(start(model, "Hello", {}, "-w", "\n%{http_code}"));
      const [body = "", status] = text.split("\n");
      return { status: Number(status), code: JSON.parse(body).error.code };
    },
    async patient(model, prompt) {
      const text = await output(start(model, prompt, {}, "--retry", String(RETRIES)));
      // The bodies of the refusals come before it.
      return JSON.parse(text.slice(text.lastIndexOf('{"id"'))).choices[0].message.content;
    },
  };
};

/** How each of them connects to a base URL with a key. */
export const STOCK_CLIENTS = { openai, "ai with @ai-sdk/openai-compatible": ai, "@langchain/openai": langchain, curl };
