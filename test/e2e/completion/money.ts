import { describe, expect, it } from "vitest";
import { decodeAccountWord, decodeJobWord } from "../../../protocol/words.ts";
import { OPERATOR } from "../../../scripts/local-stack/accounts.ts";
import { chat } from "../../support/api-client.ts";
import { jobIdOf, sha256, type World } from "./world.ts";

/** What an answer costs, as the chain alone shows it. */
export function money(world: World): void {
  describe("the chain alone", () => {
    it("shows debit, lock, tier and job id; release, both transfers and proof; and stays solvent", async () => {
      const before = await world.solvency();
      expect(before.held).toBe(before.owed);
      const reply = await world.api.post("/v1/chat/completions", chat("llama-3.2-3b-instruct", "Hello"));
      const jobId = jobIdOf(reply.body.id);
      const job = await world.settled(jobId);
      const wallet = world.stack.info.demo?.wallet as string;

      const escrow = await world.chain.transaction(job.on_chain.escrow_tx, jobId);
      const [locked] = escrow.events;
      expect(locked).toMatchObject({ eventName: "JobLocked", args: { wallet, tier: 0, credits: 2 } });
      const { job: word } = (locked?.args ?? {}) as { job: bigint };
      expect(decodeJobWord(word)).toMatchObject({
        operator: OPERATOR,
        credits: 2,
        creditsPerRequest: 2,
        creditsPer1kTokens: 1,
        feeBps: 1_000,
      });

      const settlement = await world.chain.transaction(job.on_chain.settlement_tx, jobId);
      const released = settlement.events.find((event) => event.eventName === "JobSettled");
      expect(released?.args).toMatchObject({ wallet, credits: 2 });
      const { proofHash } = (released?.args ?? {}) as { proofHash?: string };
      expect(proofHash).toBe(sha256(reply.body.choices[0].message.content).replace("sha256:", "0x"));
      // 2 credits are 20,000 units of the stablecoin; the protocol fee is 10 %.
      const treasury = await world.chain.treasury();
      expect(settlement.transfers).toContainEqual({ from: world.chain.escrow, to: job.worker_address, value: 18_000n });
      expect(settlement.transfers).toContainEqual({ from: world.chain.escrow, to: treasury, value: 2_000n });
      expect(Number(settlement.receipt.blockNumber)).toBe(job.on_chain.block_number);

      const after = await world.solvency();
      expect(after.held).toBe(after.owed);
      expect(before.held - after.held).toBe(20_000n);
    });
  });

  describe("long completions on the max tier", () => {
    it.each([
      [3_000, 60, 20],
      [700, 40, 40],
    ])("%i tokens of max_tokens 4,000: 80 locked, %i charged, %i back", async (tokens, charged, returned) => {
      const wallet = world.stack.info.demo?.wallet as string;
      await world.quiet();
      const before = (await world.chain.account(wallet)).free;
      const reply = await world.api.post(
        "/v1/chat/completions",
        chat("llama-3.3-70b-instruct", `Write. [[tokens:${tokens}]]`, { max_tokens: 4_000 }),
      );
      expect(reply.body.usage.completion_tokens).toBe(tokens);
      const job = await world.settled(jobIdOf(reply.body.id));
      const { events } = await world.chain.transaction(job.on_chain.escrow_tx, job.id);
      expect(events[0]?.args).toMatchObject({ credits: 80, tier: 3 });
      expect(job).toMatchObject({ credits_charged: charged, usdg_value: charged / 100, tier: "max" });
      const settlement = await world.chain.transaction(job.on_chain.settlement_tx, job.id);
      const released = settlement.events.find((event) => event.eventName === "JobSettled")?.args;
      expect(released).toMatchObject({ credits: charged });
      const balance = (args: unknown) => decodeAccountWord((args as { account: bigint }).account).free;
      expect(balance(released) - balance(events[0]?.args)).toBe(returned);
      expect((await world.chain.account(wallet)).free).toBe(before - charged);
      expect(Number(reply.headers.get("x-service-credits-remaining"))).toBe(before - charged);
    });

    it("an answer cut by max_tokens says so and costs its lock at most", async () => {
      const reply = await world.api.post(
        "/v1/chat/completions",
        chat("qwen3-8b", "Write. [[tokens:900]]", { max_tokens: 501 }),
      );
      expect(reply.body.choices[0].finish_reason).toBe("length");
      expect(reply.body.usage.completion_tokens).toBe(501);
      // 501 × 4 / 1,000 is below the flat price of 8.
      expect((await world.settled(jobIdOf(reply.body.id))).credits_charged).toBe(8);
    });
  });
}
