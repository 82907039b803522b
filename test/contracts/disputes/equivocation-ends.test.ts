/** Equivocation from every state a job can have had a worker in: what the job becomes, and who has what of it. */

import { expect } from "chai";
import { DEFAULT_DURATIONS } from "../../../scripts/deploy/protocol-settings.ts";
import { type Books, books, moved } from "../support/books.ts";
import { freshly, nextBlockAt } from "../support/chain.ts";
import {
  acknowledgedJob,
  type DisputedJob,
  disputedJob,
  disputedProvenJob,
  FEE_UNITS,
  OTHER_HASH,
  provenJob,
  Ruling,
  sendEquivocation,
  sendExpire,
  sendRuling,
  sendVote,
  settledJob,
  waitForVotes,
} from "../support/disputes.ts";
import { eventsOf } from "../support/events.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { type Job, sendFinalize } from "../support/jobs.ts";
import { deployWorld, type World } from "../support/world.ts";

/** 500 SVC. */
const SLASH = 500_000_000n;
/** The protocol's fee of a charge of 60 credits, given back. */
const FEE_BACK = { free: 6n, treasury: -FEE_UNITS, escrow: FEE_UNITS };

/** Ruled at once: the dispute is the wallet's own. */
async function ruled(world: World, job: DisputedJob, ruling: number): Promise<Job> {
  await sendRuling(world, job, ruling);
  return job;
}
const byWallet = (world: World) => ({ by: world.client });

const cases: [string, (world: World) => Promise<Job>, number, Partial<Books>][] = [
  ["Acknowledged: the escrow returns", (w) => acknowledgedJob(w), 6, { free: 80n, escrowed: -80n }],
  ["Proven: the escrow returns", (w) => provenJob(w), 6, { free: 80n, escrowed: -80n }],
  ["Settled: it stays so, and the client has the fee", settledJob, 4, FEE_BACK],
  [
    "Settled by finalization: it stays so, and the client has the fee",
    async (w) => {
      const job = await provenJob(w);
      await nextBlockAt(job.finalizeFrom);
      await sendFinalize(w, job);
      return job;
    },
    4,
    FEE_BACK,
  ],
  [
    "Disputed from Settled by the operator: it stays so, and the client has the fee",
    (w) => disputedJob(w),
    7,
    FEE_BACK,
  ],
  ["Disputed from Settled by the wallet: its bond stays, too", (w) => disputedJob(w, byWallet(w)), 7, FEE_BACK],
  [
    "Disputed from Proven by the operator: ends the dispute, the escrow returns",
    (w) => disputedProvenJob(w),
    6,
    { free: 80n, escrowed: -80n },
  ],
  [
    "Disputed from Proven by the wallet: the bond returns, too",
    (w) => disputedProvenJob(w, byWallet(w)),
    6,
    { free: 180n, escrowed: -180n },
  ],
  [
    "Settled, its dispute rejected: the client has the fee",
    async (w) => ruled(w, await disputedJob(w, byWallet(w)), Ruling.Rejected),
    4,
    FEE_BACK,
  ],
  [
    "Proven, its dispute rejected: the escrow returns",
    async (w) => ruled(w, await disputedProvenJob(w, byWallet(w)), Ruling.Rejected),
    6,
    { free: 80n, escrowed: -80n },
  ],
  [
    "Refunded because the gateway was at fault: the slash, and no second refund",
    async (w) => ruled(w, await disputedJob(w, byWallet(w)), Ruling.GatewayAtFault),
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
      const { escrow, token, treasury } = world;
      await token.mint(treasury, 10_000_000n);
      const job = await enter(world);
      const before = await books(world);
      const [event] = await eventsOf(sendEquivocation(world, job), escrow, "WorkerEquivocated");
      expect(event?.args.status).to.equal(status);
      expect(event?.args.disputeBefore !== 0n, "the wallet may dispute").to.equal(status === 4);
      expect(moved(before, await books(world))).to.deep.equal({ ...change, stake: -SLASH });
      expect((await escrow.jobOf(job.id)).status).to.equal(status);

      // Once a job: neither the same two nor another two slash again.
      for (const second of [{ proofHash: OTHER_HASH }, { completionTokens: 1 }]) {
        await expectRevert(sendEquivocation(world, job, second), "Registry_AlreadySlashed", job.id);
      }
    });
  }
});

describe("Fee and slash count once", () => {
  it("when the worker was found at fault first: no equivocation after it", async () => {
    const world = await freshWorld();
    const job = await disputedJob(world);
    await sendRuling(world, job, Ruling.WorkerAtFault);
    await expectRevert(sendEquivocation(world, job), "Registry_AlreadySlashed", job.id);
  });

  for (const [name, end, change] of [
    [
      "worker at fault: the rest of the charge, no second slash",
      Ruling.WorkerAtFault,
      { free: 54n, treasury: -540_000n, escrow: 540_000n },
    ],
    ["gateway at fault: the rest of the charge from the operator", Ruling.GatewayAtFault, { free: 54n }],
    ["rejected: nothing, and the fee stays with the client", Ruling.Rejected, {}],
    ["no ruling: nothing, for the fee is back already", null, {}],
  ] as const) {
    it(`in a dispute that was open: ${name}`, async () => {
      const world = await freshWorld();
      const { escrow, registry, token, treasury } = world;
      await token.mint(treasury, 10_000_000n);
      const job = await disputedJob(world);
      await sendEquivocation(world, job);
      const before = await books(world);
      const ending = end === null ? await sendExpire(world, job) : await sendRuling(world, job, end);
      await expect(ending).not.to.emit(registry, "WorkerSlashed");
      expect(moved(before, await books(world))).to.deep.equal(change);
      const { granted, paid } = await escrow.compensationOf(job.id);
      const total = end === Ruling.WorkerAtFault ? 600_000n : FEE_UNITS;
      expect([granted, paid]).to.deep.equal([total, total]);
    });
  }

  it("with votes before it: they go on to count in the same dispute", async () => {
    const world = await freshWorld();
    const { registry, worker, arbiters, escrow } = world;
    const job = await disputedJob(world);
    await waitForVotes(world, job);
    await sendVote(world, job, Ruling.WorkerAtFault);
    await sendEquivocation(world, job);
    await expect(sendVote(world, job, Ruling.WorkerAtFault, arbiters[1])).to.emit(escrow, "DisputeResolved");
    expect((await registry.workerAt(worker.id)).stake).to.equal(SLASH);
  });

  it("with a slash that could not take its whole amount: the ruling gives no more than the fee", async () => {
    const world = await freshWorld();
    const { escrow, token, treasury } = world;
    await token.mint(treasury, 10_000_000n);
    const jobs = [await settledJob(world), await settledJob(world), await disputedJob(world)] as const;
    for (const job of jobs) await sendEquivocation(world, job);
    expect((await world.registry.slashOf(jobs[2].id)).full).to.equal(false);
    const before = await books(world);
    await sendRuling(world, jobs[2], Ruling.WorkerAtFault);
    expect(moved(before, await books(world))).to.deep.equal({});
    expect((await escrow.compensationOf(jobs[2].id)).granted).to.equal(FEE_UNITS);
  });
});

describe("Equivocation after an expired dispute", () => {
  /** Windows in which a dispute ends before the time for equivocation does. */
  async function shortArbitration() {
    return await deployWorld({ durations: { ...DEFAULT_DURATIONS, arbitration: 3_602 } });
  }
  async function expired(treasuryUnits: bigint) {
    const world = await freshly(shortArbitration);
    const job = await disputedJob(world, byWallet(world));
    await world.treasury.pay(world.token, world.stranger.address, FEE_UNITS);
    if (treasuryUnits !== 0n) await world.token.mint(world.treasury, treasuryUnits);
    await nextBlockAt(job.openedAt + 3_602);
    await world.escrow.connect(world.stranger).expire(job.id);
    return { world, job };
  }

  it("gives no second fee", async () => {
    const { world, job } = await expired(10_000_000n);
    const before = await books(world);
    await sendEquivocation(world, job);
    expect(moved(before, await books(world))).to.deep.equal({ stake: -SLASH });
  });

  it("leaves the fee that the treasury still owes, as one debt", async () => {
    const { world, job } = await expired(0n);
    const { escrow, token, treasury, client } = world;
    expect(await escrow.compensationOf(job.id)).to.deep.equal([FEE_UNITS, 0n, false]);
    await sendEquivocation(world, job);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([FEE_UNITS, 0n, false]);
    await token.mint(treasury, 600_000n);
    await escrow.collectDebt(job.id);
    expect((await escrow.accountOf(client.address)).free).to.equal(10_000 - 54);
    await books(world);
  });
});
