/** The wallet's day after its worker equivocated: it disputes the charge of a settled job without a bond, once, and nobody else does. */
import { expect } from "chai";
import type { Completion } from "../../../protocol/messages.ts";
import { type Books, books, moved } from "../support/books.ts";
import { DAY, nextBlockAt, now } from "../support/chain.ts";
import {
  ARBITRATION,
  CHARGE_UNITS,
  type DisputedJob,
  disputedJob,
  FEE_UNITS,
  OTHER_HASH,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendRuling,
  sendVote,
  settledJob,
  storedDispute,
} from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld, freshWorldWithoutReserve, rich } from "../support/fresh.ts";
import { completionOf, type Job, lockJob, PROOF_HASH, provenJob, sendComplete, sendFinalize } from "../support/jobs.ts";
import { NO_SIGNATURE, signCompletion } from "../support/sign.ts";
import { CLIENT_CREDITS, OPERATOR, type World } from "../support/world.ts";

/** Settled; its worker was convicted at the returned time. */
async function convicted(world: World, enter: (world: World) => Promise<Job> = settledJob) {
  const job = await enter(world);
  await sendEquivocation(world, job);
  return { ...job, convictedAt: await now() };
}

/** The same of a job that was settled for other counts. */
async function convictedOf(world: World, change: Partial<Completion>): Promise<Job> {
  const job = await lockJob(world);
  await sendComplete(world, job, change);
  const [one, two] = [completionOf(job, change), completionOf(job, { proofHash: OTHER_HASH })];
  const sign = (completion: Completion) => signCompletion(world.escrow, world.worker.key, completion);
  await world.escrow.proveEquivocation(one, await sign(one), two, await sign(two));
  return job;
}

const byWallet = (world: World, job: Job) => sendDispute(world, job, { by: world.client });

describe("After an equivocation the wallet", () => {
  it("disputes without a bond, and the panel may rule at once", async () => {
    const { world, escrow, client, worker } = await rich(freshWorld());
    const job = await convicted(world);
    await escrow.connect(client).withdraw((await escrow.accountOf(client.address)).free, client.address);
    const at = job.convictedAt + 1_000;
    await nextBlockAt(at);
    const told = [job.id, client.address, worker.key.address, OTHER_HASH, PROOF_HASH] as const;
    await expect(byWallet(world, job))
      .to.emit(escrow, "JobDisputed")
      .withArgs(...told, false, 60, 0, 1, at, at + ARBITRATION, 0, 0);
    expect(await storedDispute(world, job)).to.deep.include({ bond: 0n, byOperator: false, afterEquivocation: true });
    await expect(sendRuling(world, job, Ruling.WorkerAtFault)).to.emit(escrow, "DisputeResolved");
  });

  it("has 24 hours, the last second excluded", async () => {
    const { world, escrow } = await rich(freshWorld());
    const settled = [await settledJob(world), await settledJob(world)] as const;
    const early = await convicted(world, async () => settled[0]);
    const late = await convicted(world, async () => settled[1]);
    await nextBlockAt(early.convictedAt + DAY - 1);
    await expect(byWallet(world, early)).to.emit(escrow, "JobDisputed");
    const deadline = late.convictedAt + DAY;
    await nextBlockAt(deadline);
    await expectRevert(byWallet(world, late), "Job_TooLate", late.id, deadline, deadline);
  });

  it("has them from an equivocation in the last second of its own day, too", async () => {
    const world = await rich(freshWorld());
    const job = await settledJob(world);
    await nextBlockAt(job.lockedAt + DAY - 1);
    await sendEquivocation(world, job);
    await nextBlockAt(job.lockedAt + 2 * DAY - 2);
    await expect(byWallet(world, job)).to.emit(world.escrow, "JobDisputed");
  });

  it("also of a job that anyone finalized", async () => {
    const world = await rich(freshWorld());
    const job = await convicted(world, async (w) => {
      const proven = await provenJob(w);
      await nextBlockAt(proven.finalizeFrom);
      await sendFinalize(w, proven);
      return proven;
    });
    const opening = sendDispute(world, job, { by: world.client, signature: NO_SIGNATURE });
    await expect(opening).to.emit(world.escrow, "JobDisputed");
  });

  for (const party of ["client", "gateway"] as const) {
    it(`disputes again when a dispute of the ${party === "client" ? "wallet" : "operator"} had been rejected`, async () => {
      const { world, escrow } = await rich(freshWorld());
      const job = await disputedJob(world, { by: world[party] });
      await sendRuling(world, job, Ruling.Rejected);
      await expectRevert(byWallet(world, job), "Dispute_AlreadyOpened");
      await sendEquivocation(world, job);
      await expect(byWallet(world, job)).to.emit(escrow, "JobDisputed");
      expect(await storedDispute(world, job)).to.deep.include({ afterEquivocation: true, resolved: false });
    });
  }

  it("disputes again when the dispute that was open at the equivocation is rejected, until its arbitration would have ended", async () => {
    const { world, escrow } = await rich(freshWorld());
    const [early, late] = [
      await disputedJob(world, { by: world.client }),
      await disputedJob(world, { by: world.client }),
    ];
    for (const job of [early, late]) {
      await sendEquivocation(world, job);
      await sendRuling(world, job, Ruling.Rejected);
    }
    await nextBlockAt(early.openedAt + ARBITRATION - 1);
    await expect(byWallet(world, early)).to.emit(escrow, "JobDisputed");
    await nextBlockAt(late.openedAt + ARBITRATION);
    await expectRevert(byWallet(world, late), "Job_TooLate");
  });

  it("disputes exactly once: not again after that one was expired", async () => {
    const world = await rich(freshWorld());
    const job = await convicted(world);
    await byWallet(world, job);
    const openedAt = await now();
    await sendExpire(world, { ...job, openedAt, ruleFrom: openedAt });
    expect((await world.escrow.jobOf(job.id)).status).to.equal(4);
    await expectRevert(byWallet(world, job), "Job_TooLate");
  });

  it("needs another hash than the signed one, and the Completion that was settled", async () => {
    const world = await rich(freshWorld());
    const job = await convicted(world);
    await expectRevert(sendDispute(world, job, { by: world.client, receivedHash: PROOF_HASH }), "Dispute_SameHash");
    await expectRevert(sendDispute(world, job, { by: world.client, signature: NO_SIGNATURE }), "ECDSAInvalidSignature");
  });
});

/** Equivocated, and in dispute: opened before it or after it. */
const orders: [string, (world: World) => Promise<DisputedJob>][] = [
  [
    "that was open",
    async (world) => {
      const job = await disputedJob(world);
      await sendEquivocation(world, job);
      return job;
    },
  ],
  [
    "that came after it",
    async (world) => {
      const job = await convicted(world);
      await byWallet(world, job);
      const openedAt = await now();
      return { ...job, openedAt, ruleFrom: openedAt };
    },
  ],
];
/** What moves from then on: the client has had the fee of six credits, and the worker its slash. */
const endings: [string, number | null, Partial<Books>][] = [
  [
    "worker at fault: the rest of the charge from the treasury, no second slash",
    Ruling.WorkerAtFault,
    { free: 54n, treasury: -540_000n, escrow: 540_000n },
  ],
  ["gateway at fault: the rest of the charge from the operator", Ruling.GatewayAtFault, { free: 54n }],
  ["rejected: nothing, and the fee stays with the client", Ruling.Rejected, {}],
  ["expired: nothing, for the fee is back already", null, {}],
];

for (const [order, enter] of orders) {
  describe(`Fee and slash count once in a dispute ${order}`, () => {
    for (const [name, ruling, change] of endings) {
      it(name, async () => {
        const { world, escrow, registry, client } = await rich(freshWorld());
        const job = await enter(world);
        const before = await books(world);
        const { reserve } = await escrow.operatorOf(OPERATOR);
        const ending = ruling === null ? await sendExpire(world, job) : await sendRuling(world, job, ruling);
        await expect(ending).not.to.emit(registry, "WorkerSlashed");
        expect(moved(before, await books(world))).to.deep.equal(change);
        const charged = ruling === Ruling.GatewayAtFault ? 54n : 0n;
        expect((await escrow.operatorOf(OPERATOR)).reserve).to.equal(reserve - charged);
        const total = ruling === Ruling.WorkerAtFault ? CHARGE_UNITS : FEE_UNITS;
        expect((await escrow.compensationOf(job.id)).slice(0, 2)).to.deep.equal([total, total]);
        expect((await escrow.accountOf(client.address)).openDisputes).to.equal(0);
      });
    }
  });
}

describe("The dispute after an equivocation", () => {
  it("gateway at fault without a reserve: the treasury pays the rest of the charge", async () => {
    const world = await rich(freshWorldWithoutReserve());
    const job = await convicted(world);
    const before = await books(world);
    await byWallet(world, job);
    await sendRuling(world, job, Ruling.GatewayAtFault);
    expect(moved(before, await books(world))).to.deep.equal({ free: 54n, treasury: -540_000n, escrow: 540_000n });
    expect((await world.escrow.accountOf(world.client.address)).free).to.equal(CLIENT_CREDITS);
  });

  it("pays the fraction of a fee once: 41 credits of charge, a fee of 4.1", async () => {
    const { world, escrow, client } = await rich(freshWorldWithoutReserve());
    const tokens = { completionTokens: 2_050 };
    const job = await convictedOf(world, tokens);
    expect([(await escrow.compensationOf(job.id)).granted, await escrow.claimableOf(client.address)]).to.deep.equal([
      41_000n,
      1_000n,
    ]);
    await sendDispute(world, job, { ...tokens, by: client });
    await sendRuling(world, job, Ruling.WorkerAtFault);
    // 4 credits and 0.1 before; 369,000 units are 36 credits and 0.9: two fractions of one credit wait as tokens.
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS - 1);
    expect(await escrow.claimableOf(client.address)).to.equal(10_000);
    await books(world);
  });

  it("has the arbiters of its own opening and votes of its own: none of the first dispute's count", async () => {
    const { world, escrow, panel, arbiters } = await rich(freshWorld());
    const job = await disputedJob(world, { by: world.client });
    // One vote against the worker, and a quorum for a rejection.
    await sendVote(world, job, Ruling.WorkerAtFault, arbiters[2]);
    await sendRuling(world, job, Ruling.Rejected);
    expect(await panel.votesFor(job.id, Ruling.Rejected)).to.equal(2);
    await sendEquivocation(world, job);
    await byWallet(world, job);
    expect([
      await panel.votesFor(job.id, Ruling.Rejected),
      await panel.votesFor(job.id, Ruling.WorkerAtFault),
    ]).to.deep.equal([0n, 0n]);
    // The same arbiters vote again, the same way or another; one vote rules nothing.
    await sendVote(world, job, Ruling.Rejected, arbiters[0]);
    await sendVote(world, job, Ruling.WorkerAtFault, arbiters[1]);
    expect((await escrow.jobOf(job.id)).status).to.equal(7);
    await expect(sendVote(world, job, Ruling.WorkerAtFault, arbiters[2])).to.emit(escrow, "DisputeResolved");
  });
});
