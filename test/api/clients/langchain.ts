import { ChatOpenAI } from "@langchain/openai";
import { type Connect, jobIdOf, RETRIES } from "./client.ts";

export const langchain: Connect = (baseUrl, apiKey) => {
  const chat = (model: string, maxRetries = 0) =>
    new ChatOpenAI({ model, apiKey, maxRetries, configuration: { baseURL: `${baseUrl}/v1` } });
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
