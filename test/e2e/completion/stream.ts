import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { chat, eventually, readStream } from "../../support/api-client.ts";
import type { TestStack } from "../../support/stack.ts";
import type { World } from "./world.ts";

const SETTLEMENT = "x-service-settlement-tx";

/** A streamed reply, byte by byte. */
export function stream(world: World): void {
  describe("a streamed reply on the wire", () => {
    it("begins with role and content, ends with an empty delta, then [DONE]", async () => {
      const response = await world.api.request(
        "POST",
        "/v1/chat/completions",
        chat("qwen3-8b", "Hello", { stream: true }),
      );
      expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
      const events = await readStream(response);
      expect(events.at(-1)).toBe("[DONE]");
      const chunks = events.slice(0, -1).map((event) => JSON.parse(event));
      expect(chunks[0].choices[0].delta).toEqual({ role: "assistant", content: expect.stringMatching(/./) });
      expect(chunks.at(-1).choices).toEqual([{ index: 0, delta: {}, finish_reason: "stop" }]);
      for (const chunk of chunks.slice(1, -1)) {
        expect(Object.keys(chunk.choices[0].delta)).toEqual(["content"]);
        expect(chunk.choices[0].finish_reason).toBeNull();
      }
      expect(new Set(chunks.map((chunk) => `${chunk.id} ${chunk.object} ${chunk.model}`)).size).toBe(1);
      expect(chunks[0]).toMatchObject({
        id: `chatcmpl-${response.headers.get("x-service-job-id")}`,
        object: "chat.completion.chunk",
      });
    });

    it("carries the settlement transaction as a trailer, and usage when asked for", async () => {
      const request = chat("qwen3-8b", "Hello", { stream: true, stream_options: { include_usage: true } });
      // A reply waits a second for the hash of its settlement: where the machine stood still for so long, the next one has it.
      const { headers, trailers, body } = await eventually(
        () => streamWithTrailers(world.stack, request),
        (reply) => SETTLEMENT in reply.trailers,
      );
      const job = await world.settled(headers["x-service-job-id"] as string);
      expect(trailers[SETTLEMENT]).toBe(job.on_chain.settlement_tx);
      const chunks = body.split("\n\n").filter((event) => event.startsWith("data: {"));
      expect(JSON.parse(chunks.at(-1)?.slice(6) ?? "")).toMatchObject({ choices: [], usage: job.usage });
    });
  });
}

/** fetch hides trailers; Node's own client shows them. */
function streamWithTrailers(
  stack: TestStack,
  body: unknown,
): Promise<{ headers: NodeJS.Dict<string | string[]>; trailers: NodeJS.Dict<string>; body: string }> {
  return new Promise((resolve, reject) => {
    const call = request(
      `${stack.info.base_url}/v1/chat/completions`,
      {
        method: "POST",
        headers: { authorization: `Bearer ${stack.info.demo?.api_key}`, "content-type": "application/json" },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (data) => {
          text += data;
        });
        response.on("end", () => resolve({ headers: response.headers, trailers: response.trailers, body: text }));
      },
    );
    call.on("error", reject);
    call.end(JSON.stringify(body));
  });
}
