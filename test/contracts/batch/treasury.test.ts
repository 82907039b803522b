/** The treasury's share of a batch: one transfer at its end, of the exact sum of what its jobs owe. */
import { expect } from "chai";
import { zeroHash } from "viem";
import { executeBatch, items } from "../support/batch.ts";
import { books } from "../support/books.ts";
import { nextBlockAt, now } from "../support/chain.ts";
import { eventsOf, expectTokens } from "../support/expect.ts";
import { freshHostileWorld, freshWorld } from "../support/fresh.ts";
import { Behaviour } from "../support/hostile.ts";
import { lockJob, provenJob } from "../support/jobs.ts";
import type { World } from "../support/world.ts";

/** Fees of the jobs below: 60 credits and 40 credits at 10 %. */
const [FEE, SMALL_FEE] = [60_000n, 40_000n];
const NO_JOB = zeroHash.slice(0, 34);

const transfersTo = async (world: World, sent: Parameters<typeof eventsOf>[0]) => {
  const transfers = await eventsOf(sent, world.token, "Transfer");
  return transfers.map(({ args }) => [args.to as string, args.value as bigint] as const);
};

/** Batch items that settle jobs: 60, 40 and 60 credits. */
async function settlements(world: World): Promise<string[]> {
  const make = items(world);
  const jobs = [await lockJob(world), await lockJob(world), await lockJob(world)] as const;
  return [
    await make.complete(jobs[0]),
    await make.complete(jobs[1], { countedTokens: 100 }),
    await make.complete(jobs[2]),
  ];
}

describe("The treasury's share of a batch", () => {
  it("is paid once, last, and to the unit", async () => {
    const { world, escrow, worker, treasury } = await freshWorld();
    const sent = escrow.connect(world.gateway).execute(await settlements(world));
    expect(await transfersTo(world, sent)).to.deep.equal([
      [worker.payout, 540_000n],
      [worker.payout, 360_000n],
      [worker.payout, 540_000n],
      [await treasury.getAddress(), FEE + SMALL_FEE + FEE],
    ]);
    await books(world);
  });

  it("has completions and finalizations in it, by whomever they are sent", async () => {
    const { world, stranger, token, treasury, escrow } = await freshWorld();
    const [first, second] = [await provenJob(world), await provenJob(world)];
    await nextBlockAt(second.finalizeFrom);
    const batch = [first, second].map(items(world).finalize);
    await expectTokens(escrow.connect(stranger).execute(batch), token, treasury, 2n * FEE);
  });

  it("has nothing of an item that failed", async () => {
    const { world, gateway, token, treasury } = await freshWorld();
    const make = items(world);
    const [settled, late, wrong] = [await lockJob(world), await lockJob(world), await lockJob(world)];
    const batch = [
      await make.complete(settled),
      await make.complete(late, { completedAt: late.lockedAt + 120 }),
      await make.complete(wrong, { wallet: world.stranger.address }),
      await make.complete(settled),
    ];
    const { failures } = await executeBatch(world, gateway, batch);
    expect(failures.map(({ index }) => index)).to.deep.equal([1, 2]);
    // The last item repeated the first one without effect.
    expect(await token.balanceOf(treasury)).to.equal(FEE);
    await books(world);
  });

  it("needs no transfer when nothing was settled, or the fee was zero", async () => {
    const { world, escrow, gateway } = await freshWorld();
    const make = items(world);
    expect(await transfersTo(world, escrow.connect(gateway).execute([make.lock()]))).to.deep.equal([]);
    await escrow.scheduleFee(0, 0);
    await nextBlockAt((await now()) + 86_400);
    const free = await lockJob(world);
    const sent = escrow.connect(gateway).execute([await make.complete(free)]);
    expect(await transfersTo(world, sent)).to.deep.equal([[world.worker.payout, 600_000n]]);
  });

  it("takes each job's own fee, not that of the moment", async () => {
    const { world, escrow, gateway, token, treasury } = await freshWorld();
    const make = items(world);
    await escrow.scheduleFee(2_000, 0);
    const effectiveAt = (await now()) + 86_400;
    await nextBlockAt(effectiveAt - 1);
    const before = await lockJob(world);
    await nextBlockAt(effectiveAt);
    const after = await lockJob(world);
    const batch = [await make.complete(before), await make.complete(after)];
    await expectTokens(escrow.connect(gateway).execute(batch), token, treasury, FEE + 2n * FEE);
  });

  it("goes to the treasury in force, also when governance changes it in the batch", async () => {
    const { world, escrow, owner, stranger, token } = await freshWorld();
    const proven = await provenJob(world);
    await nextBlockAt(proven.finalizeFrom);
    const batch = [
      items(world).finalize(proven),
      escrow.interface.encodeFunctionData("setTreasury", [stranger.address]),
    ];
    await expectTokens(escrow.connect(owner).execute(batch), token, stranger, FEE);
  });

  for (const [name, behaviour] of [
    ["refused", Behaviour.Revert],
    ["answered with false", Behaviour.ReturnFalse],
    ["met by all gas burnt", Behaviour.BurnGas],
  ] as const) {
    it(`waits as one payout of no job when its transfer is ${name}`, async () => {
      const { world, escrow, hostile, treasury, gateway, worker } = await freshHostileWorld();
      const payee = await treasury.getAddress();
      await hostile.setBehaviour(payee, behaviour);
      const batch = await settlements(world);
      const sent = escrow.connect(gateway).execute(batch, { gasLimit: 16_000_000n });
      const deferred = await eventsOf(sent, escrow, "PayoutDeferred");
      expect(deferred.map(({ args }) => [...args])).to.deep.equal([[NO_JOB, payee, FEE + SMALL_FEE + FEE]]);
      expect(await hostile.balanceOf(worker.payout)).to.equal(1_440_000n);
      await books(world);
      await hostile.setBehaviour(payee, Behaviour.Standard);
      await expectTokens(escrow.claim(payee), hostile, treasury, FEE + SMALL_FEE + FEE);
    });
  }

  it("is not the workers': each of their refused payouts waits under its own job", async () => {
    const { world, escrow, hostile, treasury, gateway, worker } = await freshHostileWorld();
    await hostile.setBehaviour(worker.payout, Behaviour.Revert);
    await hostile.setBehaviour(await treasury.getAddress(), Behaviour.Revert);
    const [first, second] = [await lockJob(world), await lockJob(world)];
    const make = items(world);
    const sent = escrow.connect(gateway).execute([await make.complete(first), await make.complete(second)]);
    const deferred = await eventsOf(sent, escrow, "PayoutDeferred");
    expect(deferred.map(({ args }) => args.jobId)).to.deep.equal([first.id, second.id, NO_JOB]);
  });
});
