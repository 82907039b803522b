import { describe, expect, it } from "vitest";
import type { CompletedEvent } from "../../../api/jobs/dispatch-stream.ts";
import { event } from "../support/played-worker.ts";
import { EVIL, type World } from "./world.ts";

/** Signed Completions that are worth nothing. */
export function completions(world: World): void {
  describe("a completion is refused, and its worker named, when it", { timeout: 120_000 }, () => {
    let old: CompletedEvent;

    it("is an old one, replayed", async () => {
      await world.evil.isOffered(EVIL);
      world.evil.play(world.answering(async (offer, text) => (old = await world.evil.completion(offer, text))));
      expect((await world.ask(EVIL)).status).toBe(200);
      await world.incident("wrong_job", async () => {
        world.evil.play(world.answering(async () => old));
        return world.spoiled();
      });
    });

    it("is an old one with the new job's id", async () => {
      await world.incident("wrong_signature", async () => {
        world.evil.play(
          world.answering(async (offer) => ({
            ...old,
            completion: { ...old.completion, jobId: offer.assignment.jobId },
          })),
        );
        return world.spoiled();
      });
    });

    it("has another hash than what was streamed", async () => {
      await world.incident("hash_mismatch", async () => {
        world.evil.play(world.answering((offer) => world.evil.completion(offer, "Something else entirely.")));
        return world.spoiled();
      });
    });

    it("is of an answer without text", async () => {
      await world.incident("empty", async () => {
        world.evil.play(async (offer, response) => {
          response.write(await world.evil.acknowledgement(offer));
          response.end(event("completed", await world.evil.completion(offer, "")));
        });
        return world.spoiled();
      });
    });

    it("is dated outside the job's time", async () => {
      await world.incident("wrong_time", async () => {
        world.evil.play(
          world.answering((offer, text) => world.evil.completion(offer, text, { completedAt: 1_600_000_000 })),
        );
        return world.spoiled();
      });
    });
  });
}
