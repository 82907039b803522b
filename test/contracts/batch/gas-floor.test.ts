/** A batch with too little gas reverts whole: no item ever fails for want of gas, and no payee is deferred for it. */
import { expect } from "chai";
import { jobId } from "../support/actors.ts";
import { executeBatch, items } from "../support/batch.ts";
import { ethers } from "../support/chain.ts";
import { freshHostileWorld, freshWorld } from "../support/fresh.ts";
import { Behaviour } from "../support/hostile.ts";
import { lockJob } from "../support/jobs.ts";
import type { World } from "../support/world.ts";

type Attempt = { gasLimit: bigint; failures: number | null };

/** Tries a batch at each gas limit from the same state; `failures` is null where the whole batch reverted. */
async function sweep(world: World, batch: string[], limits: bigint[], check: () => Promise<void>): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for (const gasLimit of limits) {
    const snapshot = (await ethers.provider.send("evm_snapshot", [])) as string;
    try {
      const { failures } = await executeBatch(world, world.gateway, batch, gasLimit);
      attempts.push({ gasLimit, failures: failures.length });
      await check();
    } catch (error) {
      if ((error as Error).name === "AssertionError") throw error;
      attempts.push({ gasLimit, failures: null });
    }
    await ethers.provider.send("evm_revert", [snapshot]);
  }
  return attempts;
}

const range = (from: number, to: number, step: number) =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => BigInt(from + i * step));

function expectAllOrNothing(attempts: Attempt[]): void {
  expect(attempts.filter((attempt) => attempt.failures !== null && attempt.failures > 0)).to.deep.equal([]);
  expect(
    attempts.some((attempt) => attempt.failures === null),
    "no limit was too low",
  ).to.equal(true);
  expect(
    attempts.some((attempt) => attempt.failures === 0),
    "no limit was enough",
  ).to.equal(true);
}

describe("Gas of a batch", () => {
  it("is refused by name below the floor of the next item", async () => {
    const world = await freshWorld();
    const { escrow, gateway } = world;
    const batch = [items(world).lock()];
    const floor = await escrow.ITEM_GAS();
    await expect(escrow.connect(gateway).execute(batch, { gasLimit: floor })).to.be.revertedWithCustomError(
      escrow,
      "Batch_OutOfGas",
    );
    await escrow.connect(gateway).execute(batch, { gasLimit: floor + 40_000n });
  });

  it("is enough at the floor for the dearest item: a fused complete whose two payees burn all they get", async () => {
    const world = await freshHostileWorld();
    const { escrow, hostile, worker, treasury } = world;
    await hostile.setBehaviour(worker.payout, Behaviour.BurnGas);
    await hostile.setBehaviour(await treasury.getAddress(), Behaviour.BurnGas);
    const job = await lockJob(world);
    const batch = [await items(world).complete(job)];
    const attempts = await sweep(world, batch, range(690_000, 770_000, 1_777), async () => {
      expect((await escrow.jobOf(job.id)).status).to.equal(4);
      expect(await escrow.claimableOf(worker.payout)).to.equal(540_000);
    });
    expectAllOrNothing(attempts);
  });

  it("never cuts a batch in two: each limit gives all items or none", async () => {
    const world = await freshWorld();
    const { escrow, token, worker } = world;
    const make = items(world);
    const [first, second] = [await lockJob(world), await lockJob(world)];
    const id = jobId();
    const batch = [await make.complete(first), make.lock(id), await make.complete(second)];
    const attempts = await sweep(world, batch, range(600_000, 1_000_000, 9_973), async () => {
      expect((await escrow.jobOf(id)).status).to.equal(1);
      expect(await token.balanceOf(worker.payout)).to.equal(2n * 540_000n);
    });
    expectAllOrNothing(attempts);
  });
});
