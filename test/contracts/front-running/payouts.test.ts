/**
 * Front-running does not change what anybody is paid. Any pending call is preceded in its block by any call that anyone
 * may make. Strangers may do a part of the work earlier or in another way; they cannot change its result.
 */
import { expect } from "chai";
import { books, moved } from "../support/books.ts";
import { prepared } from "../support/chain.ts";
import { freshWorld, rich } from "../support/fresh.ts";
import { attacksOn, endByStrangers, inOneBlock } from "../support/front-running.ts";
import { SCENARIOS } from "./scenarios.ts";

const ATTACKS_ON_ANSWERS = ["submitProof", "finalize", "openDispute", "proveEquivocation of one Completion"] as const;
const ATTACKS = [
  "acknowledge",
  "refund",
  "joinDispute",
  "expire",
  "collectDebt",
  "claims of worker, wallet and treasury",
  "all of them in a batch",
  "all of them in a batch, the other way round",
] as const;

for (const { name, answered, prepare, due } of SCENARIOS) {
  describe(`Pending: ${name}`, () => {
    async function waiting() {
      const world = await rich(freshWorld());
      const before = await books(world);
      const prepared = await prepare(world);
      return { world, before, ...prepared, attacks: await attacksOn(world, prepared.job, answered) };
    }

    async function payout(attack?: string) {
      const { world, before, job, at, pending, attacks } = await prepared(waiting);
      const { escrow, stranger } = world;
      const transactions = [pending];
      if (attack !== undefined) {
        const data = attacks[attack];
        if (data === undefined) throw new Error(`no attack ${attack}`);
        transactions.unshift({ from: stranger, to: await escrow.getAddress(), data });
      }
      const succeeded = await inOneBlock(at, transactions);
      const after = await endByStrangers(world, job);
      return { succeeded, change: moved(before, after) };
    }

    it("pays what is due when nobody interferes", async () => {
      const { succeeded, change } = await payout();
      expect(succeeded).to.deep.equal([true]);
      expect(change).to.deep.equal(due);
    });

    for (const attack of answered ? [...ATTACKS, ...ATTACKS_ON_ANSWERS] : ATTACKS) {
      it(`pays the same behind ${attack}`, async () => {
        expect((await payout(attack)).change).to.deep.equal(due);
      });
    }
  });
}
