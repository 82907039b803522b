/** What a client gets when the slash could not take its whole amount: the job's fee, no more. */
import { expect } from "chai";
import { type Books, books, moved } from "../support/books.ts";
import { disputedJob, Ruling, sendEquivocation, sendRuling, settledJob } from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import type { World } from "../support/world.ts";

/** 500 SVC: the slash; a worker stands with twice that. */
const SLASH = 500_000_000n;

/** Two charged jobs of one worker; the first one's slash leaves 500 SVC, then governance sets the next slash. */
async function slashedOnce(nextSlash: bigint, party: "gateway" | "client" = "gateway") {
  const world = await freshWorld();
  const { token, treasury, registry } = world;
  await token.mint(treasury, 10_000_000n);
  const first = await disputedJob(world);
  const second = await disputedJob(world, { by: world[party] });
  await sendRuling(world, first, Ruling.WorkerAtFault);
  await registry.setSlashAmount(nextSlash);
  return { world, second };
}

async function movedBy(world: World, action: () => Promise<unknown>): Promise<Partial<Books>> {
  const before = await books(world);
  await action();
  return moved(before, await books(world));
}

describe("A ruling against a worker with little stake", () => {
  it("refunds in full when exactly the slash is left", async () => {
    const { world, second } = await slashedOnce(SLASH);
    expect(await movedBy(world, () => sendRuling(world, second, Ruling.WorkerAtFault))).to.deep.equal({
      free: 60n,
      treasury: -600_000n,
      escrow: 600_000n,
      stake: -SLASH,
    });
    expect(await world.registry.slashOf(second.id)).to.deep.equal([BigInt(world.worker.id), true]);
  });

  it("refunds the fee when a millionth of an SVC is missing, and takes what there is", async () => {
    const { world, second } = await slashedOnce(SLASH + 1n);
    expect(await movedBy(world, () => sendRuling(world, second, Ruling.WorkerAtFault))).to.deep.equal({
      free: 6n,
      treasury: -60_000n,
      escrow: 60_000n,
      stake: -SLASH,
    });
    expect(await world.registry.slashOf(second.id)).to.deep.equal([BigInt(world.worker.id), false]);
    expect((await world.escrow.jobOf(second.id)).status).to.equal(6);
  });

  it("refunds the fee when nothing is left, and the wallet's bond", async () => {
    const world = await freshWorld();
    const { token, treasury, registry, client } = world;
    await token.mint(treasury, 10_000_000n);
    await registry.setSlashAmount(2n * SLASH);
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
    const { world, second } = await slashedOnce(2n * SLASH, "client");
    expect(await movedBy(world, () => sendRuling(world, second, Ruling.GatewayAtFault))).to.deep.equal({
      free: 160n,
      escrowed: -100n,
      treasury: -600_000n,
      escrow: 600_000n,
    });
  });
});

describe("Equivocation of a worker with little stake", () => {
  it("costs it what there is; the client has the fee back", async () => {
    const world = await freshWorld();
    const { token, treasury, registry } = world;
    await token.mint(treasury, 10_000_000n);
    const [first, second] = [await settledJob(world), await settledJob(world)];
    await sendEquivocation(world, first);
    await registry.setSlashAmount(SLASH + 1n);
    expect(await movedBy(world, () => sendEquivocation(world, second))).to.deep.equal({
      free: 6n,
      treasury: -60_000n,
      escrow: 60_000n,
      stake: -SLASH,
    });
  });
});
