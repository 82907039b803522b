/** What a client gets when the slash could not take its whole amount: the job's fee, no more. */
import { expect } from "chai";
import { type Books, books, moved } from "../support/books.ts";
import { disputedJob, Ruling, sendRuling } from "../support/disputes.ts";
import { freshWorld, rich } from "../support/fresh.ts";
import { stakeTermsInForce, topUp } from "../support/stake.ts";
import type { World } from "../support/world.ts";

/** Stake units. A worker stands with 1,000 SVC; the slash takes a millionth more than half of it. */
const MINIMUM = 1_000_000_000n;
const SLASH = 500_000_001n;

/** Two charged jobs of one worker. The first one's slash and a new payment leave `missing` less than the second slash takes. */
async function slashedOnce(missing: bigint, party: "gateway" | "client" = "gateway") {
  const world = await withSlash(SLASH);
  const first = await disputedJob(world);
  const second = await disputedJob(world, { by: world[party] });
  await sendRuling(world, first, Ruling.WorkerAtFault);
  await topUp(world, 2n - missing);
  expect((await world.registry.workerAt(world.worker.id)).stake).to.equal(SLASH - missing);
  return { world, second };
}

async function withSlash(slash: bigint): Promise<World> {
  const world = await rich(freshWorld());
  await stakeTermsInForce(world, MINIMUM, slash);
  return world;
}

async function movedBy(world: World, action: () => Promise<unknown>): Promise<Partial<Books>> {
  const before = await books(world);
  await action();
  return moved(before, await books(world));
}

describe("A ruling against a worker with little stake", () => {
  it("refunds in full when exactly the slash is left", async () => {
    const { world, second } = await slashedOnce(0n);
    expect(await movedBy(world, () => sendRuling(world, second, Ruling.WorkerAtFault))).to.deep.equal({
      free: 60n,
      treasury: -600_000n,
      escrow: 600_000n,
      stake: -SLASH,
    });
    expect(await world.registry.slashOf(second.id)).to.deep.equal([BigInt(world.worker.id), true]);
  });

  it("refunds the fee when a millionth of an SVC is missing, and takes what there is", async () => {
    const { world, second } = await slashedOnce(1n);
    expect(await movedBy(world, () => sendRuling(world, second, Ruling.WorkerAtFault))).to.deep.equal({
      free: 6n,
      treasury: -60_000n,
      escrow: 60_000n,
      stake: 1n - SLASH,
    });
    expect(await world.registry.slashOf(second.id)).to.deep.equal([BigInt(world.worker.id), false]);
    expect((await world.escrow.jobOf(second.id)).status).to.equal(6);
  });

  it("refunds the fee when nothing is left, and the wallet's bond", async () => {
    const world = await withSlash(MINIMUM);
    const { registry, client } = world;
    const [first, second] = [await disputedJob(world), await disputedJob(world, { by: client })];
    await sendRuling(world, first, Ruling.WorkerAtFault);
    expect(await movedBy(world, () => sendRuling(world, second, Ruling.WorkerAtFault))).to.deep.equal({
      free: 106n,
      escrowed: -100n,
      treasury: -60_000n,
      escrow: 60_000n,
    });
    expect(await registry.slashOf(second.id)).to.deep.equal([BigInt(world.worker.id), false]);
  });

  it("refunds in full all the same when the gateway is at fault", async () => {
    const { world, second } = await slashedOnce(1n, "client");
    expect(await movedBy(world, () => sendRuling(world, second, Ruling.GatewayAtFault))).to.deep.equal({
      free: 160n,
      escrowed: -100n,
    });
  });
});
