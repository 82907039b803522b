import { describe, expect, it } from "vitest";
import { eventually } from "../../support/api-client.ts";
import { EVIL, TEXT, type World } from "./world.ts";

/** More tokens claimed than the text can have. */
export function tokens(world: World): void {
  describe("tokens that are over-reported are not charged when they", { timeout: 120_000 }, () => {
    const charged = async (reply: Awaited<ReturnType<World["ask"]>>) => {
      expect(reply.status).toBe(200);
      const jobId = reply.headers.get("x-service-job-id") as string;
      const job = await eventually(
        () => world.api.get(`/v1/jobs/${jobId}`),
        ({ body }) => body.status === "settled",
        60_000,
      );
      return { jobId, credits: job.body.credits_charged, tokens: reply.body.usage.completion_tokens };
    };

    it("are more than the bytes that were sent", async () => {
      await world.incident("tokens_over_reported", async () => {
        world.evil.play(
          world.answering((offer, text) => world.evil.completion(offer, text, { completionTokens: 1_000_000 })),
        );
        const { jobId, ...bill } = await charged(await world.ask(EVIL, { max_tokens: 4_000 }));
        expect(bill).toEqual({ credits: 18, tokens: TEXT.length });
        return jobId;
      });
    });

    it("are more than any tokenizer makes of the text", async () => {
      await world.incident("tokens_implausible", async () => {
        const text = "plausible ".repeat(1_000).trim();
        world.evil.play(
          world.answering((offer) => world.evil.completion(offer, text, { completionTokens: 9_000 }), text),
        );
        const { jobId, ...bill } = await charged(await world.ask(EVIL, { max_tokens: 9_500 }));
        // At 9 credits a thousand, 9,000 tokens would be 81.
        expect(bill.tokens).toBeLessThan(6_000);
        expect(bill.credits).toBe(Math.max(18, Math.ceil((bill.tokens * 9) / 1_000)));
        return jobId;
      });
    });
  });
}
