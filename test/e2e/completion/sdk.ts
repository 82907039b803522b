import { describe, expect, it } from "vitest";
import { eventually } from "../../support/api-client.ts";
import { jobIdOf, sha256, type World } from "./world.ts";

const SETTLEMENT = "x-service-settlement-tx";

/** The stock OpenAI SDK, unchanged. */
export function sdk(world: World): void {
  describe("the stock OpenAI SDK", () => {
    it("gets a plain answer whose hash is on chain", async () => {
      const ask = () =>
        world.openai.chat.completions
          .create({ model: "qwen3-8b", messages: [{ role: "user", content: "Say hello." }] })
          .withResponse();
      // A reply waits a second for the hash of its settlement: where the machine stood still for so long, the next one has it.
      const { data, response } = await eventually(ask, (reply) => reply.response.headers.has(SETTLEMENT));
      const text = data.choices[0]?.message.content ?? "";
      expect(text.length).toBeGreaterThan(10);
      expect(data).toMatchObject({
        object: "chat.completion",
        model: "qwen3-8b",
        choices: [{ index: 0, finish_reason: "stop" }],
      });
      expect(data.usage?.total_tokens).toBe((data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0));
      const job = await world.settled(jobIdOf(data.id));
      expect(job.on_chain.proof_hash).toBe(sha256(text));
      expect(response.headers.get("x-service-job-id")).toBe(job.id);
      expect(response.headers.get("x-service-tx-hash")).toBe(job.on_chain.escrow_tx);
      expect(response.headers.get(SETTLEMENT)).toBe(job.on_chain.settlement_tx);
      expect(response.headers.get("x-service-worker")).toBe(job.worker_address);
      expect(Number(response.headers.get("x-service-credits-remaining"))).toBe(
        (await world.chain.account(world.stack.info.demo?.wallet as string)).free,
      );
    });

    it("gets a streamed answer whose hash is on chain", async () => {
      const stream = await world.openai.chat.completions.create({
        model: "gemma-3-27b-it",
        messages: [{ role: "user", content: "Tell me about 東京 and cafés ✨ [[tokens:300]]" }],
        stream: true,
      });
      let text = "";
      let id = "";
      let finish: string | null | undefined;
      for await (const chunk of stream) {
        id = chunk.id;
        text += chunk.choices[0]?.delta.content ?? "";
        finish = chunk.choices[0]?.finish_reason;
      }
      expect(finish).toBe("stop");
      expect((await world.settled(jobIdOf(id))).on_chain.proof_hash).toBe(sha256(text));
    });
  });
}
