import { type ChildProcess, spawn } from "node:child_process";
import { type Connect, jobIdOf, RETRIES } from "./client.ts";

export const curl: Connect = (baseUrl, apiKey) => {
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
