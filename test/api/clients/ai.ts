import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, streamText } from "ai";
import { type Connect, RETRIES } from "./client.ts";

export const ai: Connect = (baseUrl, apiKey) => {
  const service = createOpenAICompatible({ name: "service", baseURL: `${baseUrl}/v1`, apiKey, includeUsage: true });
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
