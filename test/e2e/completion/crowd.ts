import { describe, expect, it } from "vitest";
import { MAX_IN_FLIGHT } from "../../../api/chain/gathering.ts";
import { chat, eventually } from "../../support/api-client.ts";
import { mineBlock, mining, pendingLocks } from "../support/mempool.ts";
import { jobIdOf, type World } from "./world.ts";

/** Many at once. */
export function crowd(world: World): void {
  describe("32 requests at once", () => {
    it("all settle; those that come between two blocks share transactions", async () => {
      await world.quiet();
      await mining(world.stack, false);
      const before = await world.locks();
      const locked = async () => (await world.locks()) - before;
      let answered = 0;
      const asked = Promise.all(
        Array.from({ length: 32 }, async (_, i) => {
          const reply = await world.api.post("/v1/chat/completions", chat("qwen3-1.7b", `Hello ${i}`));
          answered++;
          return reply;
        }),
      );
      await world.metric("gateway_jobs_running", 32);
      await mineBlock(world.stack);
      // Who is locked gets an answer, although no settlement is mined; the locks that found no place in the first block wait for another.
      const answeredSoFar = async () => answered === (await locked());
      const othersWait = async () => (await locked()) + (await pendingLocks(world.stack)) === 32;
      await eventually(async () => (await answeredSoFar()) && (await othersWait()), Boolean);
      await mineBlock(world.stack);
      await eventually(
        async () => answered,
        (count) => count === 32,
      );
      await mining(world.stack, true);
      const replies = await asked;
      expect(replies.map((reply) => reply.status)).toEqual(Array(32).fill(200));
      const jobs = await Promise.all(replies.map((reply) => world.settled(jobIdOf(reply.body.id))));
      const locks = new Set(jobs.map((job) => job.on_chain.escrow_tx));
      // So many wait for the block, and the rest goes out in one or two once it is there.
      expect(locks.size).toBeLessThanOrEqual(MAX_IN_FLIGHT + 2);
      // Of the settlements so many wait for the second block, and so many for the third.
      const settlements = new Set(jobs.map((job) => job.on_chain.settlement_tx));
      expect(settlements.size).toBeLessThanOrEqual(2 * MAX_IN_FLIGHT + 2);
      expect(new Set(jobs.map((job) => job.id)).size).toBe(32);
      const { owed, held } = await world.solvency();
      expect(held).toBe(owed);
      expect((await world.chain.account(world.stack.info.demo?.wallet as string)).escrowed).toBe(0);
    });

    it("the newest come first in the list, each exactly once, over pages", async () => {
      const seen: string[] = [];
      let cursor = "";
      for (;;) {
        const page = (await world.api.get(`/v1/jobs?limit=10${cursor}`)).body;
        seen.push(...page.data.map((job: { id: string }) => job.id));
        if (!page.has_more) break;
        expect(page.data).toHaveLength(10);
        cursor = `&before=${page.next_cursor}`;
      }
      expect(seen.length).toBeGreaterThanOrEqual(38);
      expect(new Set(seen).size).toBe(seen.length);
    });
  });
}
