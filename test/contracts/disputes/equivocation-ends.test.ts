/** Equivocation from every state a job can have had a worker in: what the job becomes, and who is made whole. */
import { expect } from "chai";
import { DEFAULT_DURATIONS } from "../../../contracts/ignition/settings.ts";
import { type Books, books, moved } from "../support/books.ts";
import { nextBlockAt } from "../support/chain.ts";
import {
  acknowledgedJob,
  type DisputedJob,
  disputedJob,
  disputedProvenJob,
  FEE_UNITS,
  OTHER_HASH,
  provenJob,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendRuling,
  sendVote,
  settledJob,
} from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import { completionOf, type Job, sendComplete } from "../support/jobs.ts";
import { deployWorld, type World } from "../support/world.ts";

/** 500 SVC. */
const SLASH = 500_000_000n;
/** A charge of 60 credits, refunded by the treasury. */
const REFUNDED_CHARGE = { free: 60n, treasury: -600_000n, escrow: 600_000n };

async function ruled(world: World, job: DisputedJob, ruling: number): Promise<Job> {
  await sendRuling(world, job, ruling);
  return job;
}

const cases: [string, (world: World) => Promise<Job>, number, Partial<Books>][] = [
  ["Acknowledged: open again for an honest worker", (w) => acknowledgedJob(w), 1, {}],
  ["Proven: the escrow returns", (w) => provenJob(w), 6, { free: 80n, escrowed: -80n }],
  ["Settled: the client is refunded", settledJob, 6, REFUNDED_CHARGE],
  ["Disputed from Settled: ends the dispute for the client", (w) => disputedJob(w), 6, REFUNDED_CHARGE],
  [
    "Disputed from Proven: ends the dispute, the escrow returns",
    (w) => disputedProvenJob(w),
    6,
    { free: 80n, escrowed: -80n },
  ],
  [
    "Disputed by the wallet: the bond returns too",
    (w) => disputedJob(w, { by: w.client }),
    6,
    { ...REFUNDED_CHARGE, free: 160n, escrowed: -100n },
  ],
  [
    "Settled, its dispute rejected: the client is refunded after all",
    async (w) => ruled(w, await disputedJob(w), Ruling.Rejected),
    6,
    REFUNDED_CHARGE,
  ],
  [
    "Proven, its dispute rejected: the escrow returns",
    async (w) => ruled(w, await disputedProvenJob(w), Ruling.Rejected),
    6,
    { free: 80n, escrowed: -80n },
  ],
  [
    "Refunded because the gateway was at fault: the slash, and no second refund",
    async (w) => ruled(w, await disputedJob(w), Ruling.GatewayAtFault),
    6,
    {},
  ],
  [
    "Failed: the slash and nothing else",
    async (w) => {
      const job = await acknowledgedJob(w);
      await w.escrow.connect(w.gateway).fail(job.id, 1);
      return job;
    },
    5,
    {},
  ],
  [
    "Refunded after its time: the slash and nothing else",
    async (w) => {
      const job = await acknowledgedJob(w);
      await nextBlockAt(job.lockedAt + 150);
      await w.escrow.connect(w.stranger).refund(job.id);
      return job;
    },
    6,
    {},
  ],
];

describe("Equivocation of a job that is", () => {
  for (const [name, enter, status, change] of cases) {
    it(name, async () => {
      const world = await freshWorld();
      const { escrow, registry, token, treasury, worker } = world;
      await token.mint(treasury, 10_000_000n);
      const job = await enter(world);
      const before = await books(world);
      const shown = await sendEquivocation(world, job);
      await expect(shown)
        .to.emit(escrow, "WorkerEquivocated")
        .withArgs(job.id, worker.key.address, completionOf(job).proofHash, OTHER_HASH, status);
      expect(moved(before, await books(world))).to.deep.equal({ ...change, stake: -SLASH });
      expect((await escrow.jobOf(job.id)).status).to.equal(status);

      // Once a job: neither the same two nor another two slash again.
      for (const second of [{ proofHash: OTHER_HASH }, { completionTokens: 1 }]) {
        const again = sendEquivocation(world, job, second);
        if (status === 1) await expect(again).to.be.revertedWithCustomError(escrow, "Job_WrongState");
        else await expect(again).to.be.revertedWithCustomError(registry, "Registry_AlreadySlashed").withArgs(job.id);
      }
    });
  }
});

describe("Equivocation and rulings slash a job once", () => {
  it("when the worker was found at fault first", async () => {
    const world = await freshWorld();
    const job = await disputedJob(world);
    await sendRuling(world, job, Ruling.WorkerAtFault);
    await expect(sendEquivocation(world, job))
      .to.be.revertedWithCustomError(world.registry, "Registry_AlreadySlashed")
      .withArgs(job.id);
  });

  it("when arbiters were about to rule: their vote comes too late", async () => {
    const world = await freshWorld();
    const { panel, registry, worker, arbiters } = world;
    const job = await disputedJob(world);
    await sendVote(world, job, Ruling.WorkerAtFault);
    await sendEquivocation(world, job);
    await expect(sendVote(world, job, Ruling.WorkerAtFault, arbiters[1]))
      .to.be.revertedWithCustomError(panel, "Panel_NotOpen")
      .withArgs(job.id);
    expect((await registry.workerAt(worker.id)).stake).to.equal(SLASH);
  });

  it("when an earlier worker of the job equivocated: that slash covers the client, the second worker is not slashed", async () => {
    const world = await freshWorld();
    const { escrow, registry, token, treasury, worker, rival } = world;
    await token.mint(treasury, 10_000_000n);
    const job = await acknowledgedJob(world);
    await sendEquivocation(world, job);
    await sendComplete(world, job, { worker: rival, attempt: 2 });
    const { free } = await escrow.accountOf(world.client.address);
    await sendDispute(world, job, { worker: rival });
    const ruling = await sendRuling(world, job, Ruling.WorkerAtFault);
    await expect(ruling).not.to.emit(registry, "WorkerSlashed");
    expect((await escrow.accountOf(world.client.address)).free).to.equal(free + 60n);
    expect((await registry.workerAt(rival.id)).stake).to.equal(2n * SLASH);
    expect(await registry.slashOf(job.id)).to.deep.equal([BigInt(worker.id), true]);
  });
});

describe("Equivocation after an expired dispute", () => {
  /** Windows in which a dispute ends before the time for equivocation does. */
  async function expired(treasuryUnits: bigint) {
    const world = await deployWorld({ durations: { ...DEFAULT_DURATIONS, arbitration: 3_600 } });
    const job = await disputedJob(world);
    await world.treasury.pay(world.token, world.stranger.address, FEE_UNITS);
    await world.token.mint(world.treasury, treasuryUnits);
    await nextBlockAt(job.openedAt + 3_600);
    await world.escrow.connect(world.stranger).expire(job.id);
    return { world, job };
  }

  it("refunds the charge without the fee that came back already", async () => {
    const { world, job } = await expired(10_000_000n);
    const before = await books(world);
    await sendEquivocation(world, job);
    expect(moved(before, await books(world))).to.deep.equal({
      free: 54n,
      treasury: -540_000n,
      escrow: 540_000n,
      stake: -SLASH,
    });
  });

  it("includes the fee when the treasury still owes it, as one debt", async () => {
    const { world, job } = await expired(0n);
    const { escrow, token, treasury, client } = world;
    expect((await escrow.debtOf(job.id)).units).to.equal(FEE_UNITS);
    await sendEquivocation(world, job);
    expect((await escrow.debtOf(job.id)).units).to.equal(600_000n);
    await token.mint(treasury, 600_000n);
    await escrow.collectDebt(job.id);
    expect((await escrow.accountOf(client.address)).free).to.equal(10_000);
    await books(world);
  });
});
