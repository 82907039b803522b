/** Two Completions of one worker for one job: what they must be, what becomes of the job, and what the wallet can do then. */
import { expect } from "chai";
import type { Completion } from "../../../protocol/messages.ts";
import { type Books, books, moved } from "../support/books.ts";
import { DAY, nextBlockAt, now } from "../support/chain.ts";
import {
  ARBITRATION,
  CHARGE_UNITS,
  type DisputedJob,
  disputedJob,
  equivocationArgs,
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
  waitForVotes,
} from "../support/disputes.ts";
import { eventsOf, expectRevert } from "../support/expect.ts";
import { freshWorld, freshWorldWithoutReserve, rich } from "../support/fresh.ts";
import {
  acknowledgedJob,
  completionOf,
  type Job,
  lockJob,
  PROOF_HASH,
  provenJob,
  sendAcknowledge,
  sendComplete,
  sendFinalize,
  signedCompletion,
} from "../support/jobs.ts";
import { HIGH_S, NO_SIGNATURE, signCompletion } from "../support/sign.ts";
import { STATES, STATUSES, type State, statusOf } from "../support/states.ts";
import { CLIENT_CREDITS, OPERATOR, type World } from "../support/world.ts";

// What two Completions must be to punish: different, of one job, by its worker's signature or proof, in time.

describe("The time for equivocation", () => {
  for (const [name, enter] of [
    ["acknowledged", (world: World) => acknowledgedJob(world)],
    ["proven", (world: World) => provenJob(world)],
    ["settled", settledJob],
  ] as const) {
    it(`of a job that is ${name} ends 24 hours after its lock, that second excluded`, async () => {
      const { world, escrow } = await freshWorld();
      const early = await enter(world);
      await nextBlockAt(early.lockedAt + DAY - 1);
      await expect(sendEquivocation(world, early)).to.emit(escrow, "WorkerEquivocated");
      const again = await freshWorld();
      const late = await enter(again);
      const deadline = late.lockedAt + DAY;
      await nextBlockAt(deadline);
      await expectRevert(sendEquivocation(again, late), "Job_TooLate", late.id, deadline, deadline);
    });
  }
});

describe("proveEquivocation", () => {
  it("takes no Completion twice and none of another job, on either side", async () => {
    const { world, escrow, stranger } = await freshWorld();
    const [job, other] = [await settledJob(world), await settledJob(world)];
    const [one, first, two, second] = await equivocationArgs(world, job);
    const foreign = await signedCompletion(world, other);
    const mine = escrow.connect(stranger);
    await expectRevert(mine.proveEquivocation(one, first, one, first), "Dispute_NoEquivocation", job.id);
    await expectRevert(mine.proveEquivocation(one, first, ...foreign), "Dispute_NoEquivocation", job.id);
    await expectRevert(mine.proveEquivocation(...foreign, one, first), "Dispute_NoEquivocation", other.id);
    // In either order it is one.
    await expect(mine.proveEquivocation(two, second, one, first)).to.emit(escrow, "WorkerEquivocated");
  });

  it("sees an equivocation in any field, not only in the hash", async () => {
    const others = [
      { promptTokens: 13 },
      { completionTokens: 2_999 },
      { reasoningTokens: 1 },
      { textBytes: 1 },
      { completedAt: 1 },
    ];
    for (const second of others) {
      const world = await freshWorld();
      await expect(sendEquivocation(world, await settledJob(world), second), Object.keys(second).join()).to.emit(
        world.escrow,
        "WorkerEquivocated",
      );
    }
  });

  it("needs both signatures to be the worker's", async () => {
    const { world, escrow, rival } = await freshWorld();
    const job = await settledJob(world);
    const [one, first, two, second] = await equivocationArgs(world, job);
    const rivals = await signCompletion(escrow, rival.key, two);
    const refused = escrow.proveEquivocation(one, first, two, rivals);
    await expectRevert(refused, "Job_NotTheWorker", job.id, rival.key.address);
    await expect(escrow.proveEquivocation(two, rivals, one, first))
      .to.be.revertedWithCustomError(escrow, "Job_NotTheWorker")
      .withArgs(job.id, rival.key.address);
    // Each signature under the other's Completion recovers some stranger.
    await expectRevert(escrow.proveEquivocation(one, second, two, first), "Job_NotTheWorker");
  });

  it("needs the job's present worker: who was replaced is not punished for it", async () => {
    const { world, worker, rival } = await freshWorld();
    const job = await acknowledgedJob(world);
    await sendAcknowledge(world, job, { worker: rival, attempt: 2 });
    await expectRevert(sendEquivocation(world, job), "Job_NotTheWorker", job.id, worker.key.address);
  });

  it("needs one more signature for a proven Completion, also after settlement", async () => {
    for (const settledSince of [false, true]) {
      const { world, escrow } = await freshWorld();
      const job = await provenJob(world);
      if (settledSince) await sendComplete(world, job);
      const [one, , two, second] = await equivocationArgs(world, job);
      await expectRevert(escrow.proveEquivocation(one, NO_SIGNATURE, two, NO_SIGNATURE), "ECDSAInvalidSignature");
      await expectRevert(escrow.proveEquivocation(one, NO_SIGNATURE, one, NO_SIGNATURE), "Dispute_NoEquivocation");
      await expect(escrow.proveEquivocation(two, second, one, NO_SIGNATURE)).to.emit(escrow, "WorkerEquivocated");
    }
  });

  it("needs both signatures for a job that was never proven", async () => {
    const { world, escrow } = await freshWorld();
    const job = await settledJob(world);
    const [one, first, two, second] = await equivocationArgs(world, job);
    for (const args of [
      [one, NO_SIGNATURE, two, second],
      [one, first, two, NO_SIGNATURE],
    ] as const) {
      await expectRevert(escrow.proveEquivocation(...args), "ECDSAInvalidSignature");
    }
  });

  it("takes no malleable form of a signature on either side", async () => {
    const { world, escrow } = await freshWorld();
    const job = await settledJob(world);
    const [one, first, two, second] = await equivocationArgs(world, job);
    const refused = escrow.proveEquivocation(one, { r: first.r, vs: HIGH_S }, two, second);
    await expectRevert(refused, "ECDSAInvalidSignatureS", HIGH_S);
    await expect(escrow.proveEquivocation(one, first, two, { r: second.r, vs: HIGH_S }))
      .to.be.revertedWithCustomError(escrow, "ECDSAInvalidSignatureS")
      .withArgs(HIGH_S);
  });
});

// Equivocation from every state a job can have had a worker in: what the job becomes, and who has what of it.

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
    { free: 140n, escrowed: -140n },
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
      // A gateway's batch has so much for it (GAS_CEILING in api/chain/operations.ts).
      expect((await (await shown).wait())?.gasUsed).to.be.lessThan(260_000n);
      const [event] = await eventsOf(shown, escrow, "WorkerEquivocated");
      // The wallet of a settled job has a day for a dispute.
      const disputeBefore = BigInt(status === 4 ? (await now()) + DAY : 0);
      const proof = [PROOF_HASH, OTHER_HASH, BigInt(status), disputeBefore];
      expect([...(event?.args ?? [])]).to.deep.equal([job.id, worker.key.address, ...proof]);
      const after = await books(world);
      expect(moved(before, after)).to.deep.equal({ ...change, stake: -SLASH });
      expect((await escrow.jobOf(job.id)).status).to.equal(status);
      const payments = {
        Compensated: [client.address, FEE_UNITS, 0n, false],
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

  it("with a short slash gives no more than the fee back", async () => {
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

// The wallet's day after its worker equivocated: it disputes the charge of a settled job without a bond, once, and nobody else does.

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

  it("disputes again after a rejection, until the first arbitration's end", async () => {
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
  it("pays the fraction of a fee once: 41 credits of charge, a fee of 4.1", async () => {
    const { world, escrow, client } = await rich(freshWorldWithoutReserve());
    const tokens = { completionTokens: 2_050 };
    const job = await convictedOf(world, tokens);
    expect((await escrow.compensationOf(job.id)).granted).to.equal(41_000);
    expect(await escrow.claimableOf(client.address)).to.equal(1_000);
    await sendDispute(world, job, { ...tokens, by: client });
    await sendRuling(world, job, Ruling.WorkerAtFault);
    // 4 credits and 0.1 before; 369,000 units are 36 credits and 0.9: two fractions of one credit wait as tokens.
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS - 1);
    expect(await escrow.claimableOf(client.address)).to.equal(10_000);
    await books(world);
  });

  it("has its own arbiters and votes: none of the first dispute's count", async () => {
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
