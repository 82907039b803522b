/** Equivocation from every state a job can have had a worker in: what the job becomes, and who has what of it. */
import { expect } from "chai";
import { DEFAULT_DURATIONS } from "../../../scripts/deploy/protocol-settings.ts";
import { type Books, books, moved } from "../support/books.ts";
import { DAY, freshly, nextBlockAt, now } from "../support/chain.ts";
import {
  disputedJob,
  FEE_UNITS,
  OTHER_HASH,
  Ruling,
  sendEquivocation,
  sendRuling,
  sendVote,
  settledJob,
  waitForVotes,
} from "../support/disputes.ts";
import { eventsOf } from "../support/events.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld, rich } from "../support/fresh.ts";
import { acknowledgedJob, PROOF_HASH } from "../support/jobs.ts";
import { STATES, STATUSES, type State, statusOf } from "../support/states.ts";
import { deployWorld, type World } from "../support/world.ts";

/** 500 SVC. */
const SLASH = 500_000_000n;
/** The protocol's fee of a charge of 60 credits, given back. */
const FEE_BACK = { free: 6n, treasury: -FEE_UNITS, escrow: FEE_UNITS };

const ESCROW_BACK = { free: 80n, escrowed: -80n };

const enter = {
  ...STATES,
  "Refunded after its acknowledgement": async (world: World) => {
    const job = await acknowledgedJob(world);
    await nextBlockAt(job.lockedAt + 150);
    await world.escrow.connect(world.stranger).refund(job.id);
    return job;
  },
};

/** With the event that tells of a payment. */
const cases: [keyof typeof enter, string, Partial<Books>, string?][] = [
  ["Acknowledged", "the escrow returns", ESCROW_BACK, "JobRefunded"],
  ["Proven", "the escrow returns", ESCROW_BACK, "JobRefunded"],
  ["Settled", "it stays so, and the client has the fee", FEE_BACK, "Compensated"],
  ["Settled by finalization", "it stays so, and the client has the fee", FEE_BACK, "Compensated"],
  ["Disputed after its settlement", "it stays so, and the client has the fee", FEE_BACK, "Compensated"],
  ["Disputed after its settlement by its wallet", "its bond stays, too", FEE_BACK, "Compensated"],
  ["Disputed after its proof", "ends the dispute, the escrow returns", ESCROW_BACK, "DisputeResolved"],
  [
    "Disputed after its proof by its wallet",
    "the bond returns, too",
    { free: 180n, escrowed: -180n },
    "DisputeResolved",
  ],
  ["Settled, its dispute rejected", "the client has the fee", FEE_BACK, "Compensated"],
  ["Proven, its dispute rejected", "the escrow returns", ESCROW_BACK, "JobRefunded"],
  ["Refunded, the gateway at fault", "the slash, and no second refund", {}],
  ["Failed", "the slash and nothing else", {}],
  ["Refunded after its acknowledgement", "the slash and nothing else", {}],
];

describe("Equivocation of a job that is", () => {
  for (const [state, end, change, payment] of cases) {
    it(`${state}: ${end}`, async () => {
      const { world, escrow, client, worker } = await rich(freshWorld());
      const job = await enter[state](world);
      // What was held in escrow returns and ends the job.
      const status = "escrowed" in change ? 6 : STATUSES.indexOf(statusOf(state as State));
      const before = await books(world);
      const shown = sendEquivocation(world, job);
      const [event] = await eventsOf(shown, escrow, "WorkerEquivocated");
      // The wallet of a settled job has a day for a dispute.
      const disputeBefore = BigInt(status === 4 ? (await now()) + DAY : 0);
      const proof = [PROOF_HASH, OTHER_HASH, BigInt(status), disputeBefore];
      expect([...(event?.args ?? [])]).to.deep.equal([job.id, worker.key.address, ...proof]);
      const after = await books(world);
      expect(moved(before, after)).to.deep.equal({ ...change, stake: -SLASH });
      expect((await escrow.jobOf(job.id)).status).to.equal(status);
      const payments = {
        Compensated: [client.address, FEE_UNITS, 0n],
        JobRefunded: [change.free],
        DisputeResolved: [BigInt(Ruling.WorkerAtFault), 6n, change.free],
      };
      for (const [name, values] of Object.entries(payments)) {
        const told = (await eventsOf(shown, escrow, name)).map(({ args }) => [...args]);
        const expected = [job.id, client.address, ...values, after.free, after.escrowed];
        expect(told, name).to.deep.equal(name === payment ? [expected] : []);
      }

      // Once a job: neither the same two nor another two slash again.
      for (const second of [{ proofHash: OTHER_HASH }, { completionTokens: 1 }])
        await expectRevert(sendEquivocation(world, job, second), "Registry_AlreadySlashed", job.id);
    });
  }
});

describe("Fee and slash count once", () => {
  it("with votes before it: they go on to count in the same dispute", async () => {
    const { world, registry, worker, arbiters, escrow } = await freshWorld();
    const job = await disputedJob(world);
    await waitForVotes(world, job);
    await sendVote(world, job, Ruling.WorkerAtFault);
    await sendEquivocation(world, job);
    await expect(sendVote(world, job, Ruling.WorkerAtFault, arbiters[1])).to.emit(escrow, "DisputeResolved");
    expect((await registry.workerAt(worker.id)).stake).to.equal(SLASH);
  });

  it("with a slash that could not take its whole amount: the ruling gives no more than the fee", async () => {
    const world = await rich(freshWorld());
    const jobs = [await settledJob(world), await settledJob(world), await disputedJob(world)] as const;
    for (const job of jobs) await sendEquivocation(world, job);
    expect((await world.registry.slashOf(jobs[2].id)).full).to.equal(false);
    const before = await books(world);
    await sendRuling(world, jobs[2], Ruling.WorkerAtFault);
    expect(moved(before, await books(world))).to.deep.equal({});
    expect((await world.escrow.compensationOf(jobs[2].id)).granted).to.equal(FEE_UNITS);
  });
});

describe("Equivocation after an expired dispute", () => {
  /** Windows in which a dispute ends before the time for equivocation does. */
  async function shortArbitration() {
    return await deployWorld({ durations: { ...DEFAULT_DURATIONS, arbitration: 3_602 } });
  }
  async function expired(treasuryUnits: bigint) {
    const world = await freshly(shortArbitration);
    const job = await disputedJob(world, { by: world.client });
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
