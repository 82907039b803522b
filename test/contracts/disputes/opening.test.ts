/** Who may open a dispute, when, what it must show and costs, and what is written down about it. */
import { expect } from "chai";
import { type Hex, keccak256, toBytes } from "viem";
import { withDelivery } from "../../../protocol/delivery.ts";
import { signedCompletion } from "../../../protocol/words.ts";
import { signingKey } from "../support/actors.ts";
import { executeBatch, items } from "../support/batch.ts";
import { nextBlockAt, now } from "../support/chain.ts";
import {
  ARBITRATION,
  BOND,
  disputedJob,
  disputedProvenJob,
  OTHER_HASH,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendRuling,
  settledJob,
  storedDispute,
} from "../support/disputes.ts";
import { eventsOf, expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { completionOf, type Job, lockJob, otherFields, PROOF_HASH, provenJob, sendComplete } from "../support/jobs.ts";
import { HIGH_S, NO_SIGNATURE, signCompletion } from "../support/sign.ts";
import { buyCredits, CLIENT_CREDITS, OPERATOR, RESERVE_CREDITS, type World } from "../support/world.ts";

// Who may open a dispute, what it costs, and what is written down about it.

/** With the end of the job's own window, which a dispute by the operator waits for. */
const settled = async (world: World) => {
  const job = await settledJob(world);
  return { ...job, windowEnd: job.settledAt + 90 };
};
const proven = async (world: World) => {
  const job = await provenJob(world);
  return { ...job, windowEnd: job.finalizeFrom };
};

const origins = [
  // 60 credits charged; or 80 in escrow, of which the proof charges 60: the bond of the operator.
  { from: "Settled", enter: settled, free: CLIENT_CREDITS - 60, escrowed: 0, operatorBond: 0, counted: 1 },
  { from: "Proven", enter: proven, free: CLIENT_CREDITS - 80, escrowed: 80, operatorBond: 60, counted: 0 },
] as const;

for (const { from, enter, free, escrowed, operatorBond, counted } of origins) {
  describe(`openDispute from ${from}`, () => {
    it(`by its operator costs the wallet nothing and a bond of ${operatorBond || "no"} credits`, async () => {
      const { world, escrow, client, worker } = await freshWorld();
      const job = await enter(world);
      const at = (await now()) + 5;
      await nextBlockAt(at);
      const told = [job.id, client.address, worker.key.address, OTHER_HASH, PROOF_HASH] as const;
      const opening = sendDispute(world, job);
      await expect(opening)
        .to.emit(escrow, "JobDisputed")
        .withArgs(...told, true, 60, operatorBond, 1, job.windowEnd, at + ARBITRATION, free, escrowed);
      if (operatorBond === 0) await expect(opening).not.to.emit(escrow, "ReserveChanged");
      else {
        await expect(opening)
          .to.emit(escrow, "ReserveChanged")
          .withArgs(OPERATOR, job.id, 4, RESERVE_CREDITS - operatorBond, operatorBond);
      }
      expect(await storedDispute(world, job)).to.deep.equal({
        openedAt: BigInt(at),
        ruleFrom: BigInt(job.windowEnd),
        arbiterSet: 1n,
        bond: BigInt(operatorBond),
        workerHash: PROOF_HASH.slice(0, 16),
        byOperator: true,
        byKey: false,
        fromProven: from === "Proven",
        joined: false,
        conceded: false,
        afterEquivocation: false,
        resolved: false,
        ruling: 0n,
      });
      const { status, lockedAt, deadline } = await escrow.jobOf(job.id);
      expect([status, lockedAt + deadline]).to.deep.equal([7n, BigInt(at + ARBITRATION)]);
      expect((await escrow.accountOf(client.address)).openDisputes).to.equal(counted);
      const { reserve, held } = await escrow.operatorOf(OPERATOR);
      expect([reserve, held]).to.deep.equal([BigInt(RESERVE_CREDITS - operatorBond), BigInt(operatorBond)]);
    });

    it("by the wallet itself puts up its bond, does not count, and can be ruled at once", async () => {
      const { world, escrow, client, worker } = await freshWorld();
      const job = await enter(world);
      const at = (await now()) + 5;
      await nextBlockAt(at);
      const told = [job.id, client.address, worker.key.address, OTHER_HASH, PROOF_HASH] as const;
      const opening = sendDispute(world, job, { by: client });
      await expect(opening)
        .to.emit(escrow, "JobDisputed")
        .withArgs(...told, false, 60, BOND, 1, at, at + ARBITRATION, free - BOND, escrowed + BOND);
      await expect(opening).not.to.emit(escrow, "ReserveChanged");
      const dispute = await escrow.disputeOf(job.id);
      expect([dispute.bond, dispute.byOperator]).to.deep.equal([BigInt(BOND), false]);
      const { openDisputes, spentToday } = await escrow.accountOf(client.address);
      // A bond is no spending: the day's count is the job's alone.
      expect([openDisputes, spentToday]).to.deep.equal([0n, from === "Settled" ? 60n : 80n]);
    });

    it("is any signer's in office of the operator that locked the job", async () => {
      const world = await freshWorld();
      const job = await enter(world);
      await expect(sendDispute(world, job, { by: world.secondGateway })).to.emit(world.escrow, "JobDisputed");
    });

    it("is refused to everybody but the wallet and its operator's signers", async () => {
      const world = await freshWorld();
      const { escrow, stranger, otherGateway, secondGateway, operatorAdmin, workerOwner, arbiters, guardian, owner } =
        world;
      await buyCredits(world, stranger, 1_000);
      const job = await enter(world);
      await escrow.connect(operatorAdmin).rotateSigners(OPERATOR, [], [], [secondGateway.address]);
      const others = [stranger, otherGateway, secondGateway, operatorAdmin, workerOwner, guardian, owner, ...arbiters];
      for (const by of others)
        await expectRevert(sendDispute(world, job, { by }), "Dispute_NotAParty", job.id, by.address);
    });
  });
}

// When a dispute can be opened: both sides of each bound, and once a job.

const parties = ["gateway", "client"] as const;

describe("The window of a dispute", () => {
  for (const party of parties) {
    it(`of a settled job ends 90 s after the settlement, that second excluded (${party})`, async () => {
      const { world, escrow, [party]: by } = await freshWorld();
      const [early, late] = [await settledJob(world), await settledJob(world)];
      await nextBlockAt(early.settledAt + 89);
      await expect(sendDispute(world, early, { by })).to.emit(escrow, "JobDisputed");
      const deadline = late.settledAt + 90;
      await nextBlockAt(deadline);
      await expectRevert(sendDispute(world, late, { by }), "Job_TooLate", late.id, deadline, deadline);
    });

    it(`of a proven job ends with the second in which it can be finalized (${party})`, async () => {
      const { world, escrow, [party]: by } = await freshWorld();
      const early = await provenJob(world);
      await nextBlockAt(early.finalizeFrom - 1);
      await expect(sendDispute(world, early, { by })).to.emit(escrow, "JobDisputed");
      const late = await provenJob(world);
      await nextBlockAt(late.finalizeFrom);
      const refused = sendDispute(world, late, { by });
      await expectRevert(refused, "Job_TooLate", late.id, late.finalizeFrom, late.finalizeFrom);
    });
  }

  it("runs from the settlement, not from the lock or the answer", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    await nextBlockAt(job.lockedAt + 149);
    await sendComplete(world, job);
    await nextBlockAt(job.lockedAt + 149 + 89);
    await expect(sendDispute(world, job)).to.emit(world.escrow, "JobDisputed");
  });

  it("is new when the gateway settles a proven job", async () => {
    const world = await freshWorld();
    const job = await provenJob(world);
    await nextBlockAt(job.lockedAt + 100);
    await sendComplete(world, job);
    await nextBlockAt(job.lockedAt + 190);
    await expectRevert(sendDispute(world, job), "Job_TooLate", job.id, job.lockedAt + 190, job.lockedAt + 190);
  });
});

it("A job is disputed once, also when it is settled after a rejection", async () => {
  const { world, client } = await freshWorld();
  const job = await disputedProvenJob(world, { by: client });
  await sendRuling(world, job, Ruling.Rejected);
  await expectRevert(sendDispute(world, job), "Job_TooLate");
  await sendComplete(world, job);
  for (const party of parties)
    await expectRevert(sendDispute(world, job, { by: world[party] }), "Dispute_AlreadyOpened", job.id);
});

// What a dispute must show: another hash, and what the job's worker stands behind: by its proof on record, or by its signature.

/** Proven first, and then settled by its gateway. */
async function provenAndSettled(world: World): Promise<Job> {
  const job = await provenJob(world);
  await sendComplete(world, job);
  return job;
}

const disputable: [string, (world: World) => Promise<Job>][] = [
  ["settled", settledJob],
  ["proven", (world) => provenJob(world)],
];
for (const [name, enter] of disputable) {
  describe(`A dispute of a ${name} job`, () => {
    it("needs another hash than the signed one", async () => {
      const world = await freshWorld();
      const job = await enter(world);
      for (const by of [world.gateway, world.client])
        await expectRevert(sendDispute(world, job, { by, receivedHash: PROOF_HASH }), "Dispute_SameHash", job.id);
    });
  });
}

describe("A dispute of a proven job", () => {
  for (const [name, enter] of [
    ["not settled yet", (world: World) => provenJob(world)],
    ["settled by its gateway since", provenAndSettled],
  ] as const) {
    it(`needs no signature: the worker's proof is on record (${name})`, async () => {
      const { world, escrow, worker } = await freshWorld();
      const job = await enter(world);
      const [opened] = await eventsOf(sendDispute(world, job, { signature: NO_SIGNATURE }), escrow, "JobDisputed");
      expect(opened?.args.worker).to.equal(worker.key.address);
    });
  }

  it("is about the proven Completion only, whoever signed another", async () => {
    const world = await freshWorld();
    const job = await provenJob(world);
    for (const change of otherFields(job)) {
      for (const options of [change, { ...change, signature: NO_SIGNATURE }])
        await expectRevert(sendDispute(world, job, options), "Settlement_OtherCompletion", job.id);
    }
  });
});

describe("A dispute of a settled job", () => {
  it("is opened with what JobSettled says: counts, time and the worker's signature", async () => {
    const { world, escrow, client } = await freshWorld();
    const job = await lockJob(world);
    await nextBlockAt(job.lockedAt + 20);
    const [settled] = await eventsOf(sendComplete(world, job), escrow, "JobSettled");
    const { proofHash, usage, r, vs } = settled?.args.toObject() ?? {};
    const completion = signedCompletion({ jobId: job.id, proofHash, usage });
    await expect(escrow.connect(client).openDispute(OTHER_HASH, completion, { r, vs })).to.emit(escrow, "JobDisputed");
  });

  it("needs the signature of the job's worker, not of a rival or an unregistered key", async () => {
    const { world, escrow, rival } = await freshWorld();
    const job = await settledJob(world);
    for (const key of [rival.key, signingKey("nobody")]) {
      const signature = await signCompletion(escrow, key, completionOf(job));
      await expectRevert(sendDispute(world, job, { signature }), "Job_NotTheWorker", job.id, key.address);
    }
  });

  it("takes no field of the Completion but the signed one", async () => {
    const { world, escrow, worker, client } = await freshWorld();
    const job = await settledJob(world);
    const signature = await signCompletion(escrow, worker.key, completionOf(job));
    for (const change of otherFields(job)) {
      await expect(
        sendDispute(world, job, { ...change, by: client, signature }),
        Object.keys(change).join(),
      ).to.be.revertedWithCustomError(escrow, "Job_NotTheWorker");
    }
  });

  it("can name another answer than the settled one, and convicts its worker", async () => {
    const { world, escrow, client, registry } = await freshWorld();
    const job = await settledJob(world);
    const opening = sendDispute(world, job, { by: client, proofHash: OTHER_HASH, receivedHash: PROOF_HASH });
    const [opened] = await eventsOf(opening, escrow, "JobDisputed");
    expect([opened?.args.receivedHash, opened?.args.workerHash]).to.deep.equal([PROOF_HASH, OTHER_HASH]);
    // JobSettled has one of the two signatures, the calldata of openDispute the other.
    await expect(sendEquivocation(world, job)).to.emit(registry, "WorkerSlashed");
  });

  it("takes no signature of another job of the same worker", async () => {
    const { world, escrow, worker } = await freshWorld();
    const [job, other] = [await settledJob(world), await settledJob(world)];
    const signature = await signCompletion(escrow, worker.key, completionOf(other));
    await expectRevert(sendDispute(world, job, { signature }), "Job_NotTheWorker");
  });

  it("takes no proof of another job: a digest is its own job's", async () => {
    const world = await freshWorld();
    const [job, other] = [await settledJob(world), await provenJob(world)];
    const refused = world.escrow.connect(world.gateway).openDispute(OTHER_HASH, completionOf(job), NO_SIGNATURE);
    await expectRevert(refused, "ECDSAInvalidSignature");
    await expectRevert(sendDispute(world, other, { jobId: job.id, signature: NO_SIGNATURE }), "ECDSAInvalidSignature");
  });

  it("takes no malleable or empty signature", async () => {
    const world = await freshWorld();
    const job = await settledJob(world);
    await expectRevert(
      sendDispute(world, job, { signature: { r: OTHER_HASH, vs: HIGH_S } }),
      "ECDSAInvalidSignatureS",
      HIGH_S,
    );
    await expectRevert(sendDispute(world, job, { signature: NO_SIGNATURE }), "ECDSAInvalidSignature");
  });
});

// What stands behind the arguments of `openDispute` is for arbiters to read: the contract takes the call as if it were not there.

/** A word like any signature's. */
const WORD = keccak256(toBytes("a word"));

/** The operator's call for a settled job, without and with a statement. */
async function calls(world: World, job: Job): Promise<{ plain: Hex; stated: Hex }> {
  const plain = (await items(world).openDispute(job)) as Hex;
  const signature = { r: WORD, vs: WORD };
  return {
    plain,
    stated: withDelivery(plain, { jobId: job.id as Hex, sentHash: PROOF_HASH, complete: true, signature }),
  };
}

const openedEvent = async ({ escrow }: World, tx: { hash: string; wait: () => Promise<unknown> }) => {
  await tx.wait();
  const events = await escrow.queryFilter(escrow.filters.JobDisputed());
  const { args } = events.find(({ transactionHash }) => transactionHash === tx.hash) as (typeof events)[number];
  return { receivedHash: args.receivedHash, workerHash: args.workerHash, byOperator: args.byOperator, bond: args.bond };
};

describe("A statement behind openDispute", () => {
  it("changes nothing of the dispute, alone and in a batch", async () => {
    const { world, escrow, gateway } = await freshWorld();
    const [one, two, three] = [await settledJob(world), await settledJob(world), await settledJob(world)];
    const to = await escrow.getAddress();
    const plain = await gateway.sendTransaction({ to, data: (await calls(world, one)).plain });
    const stated = await gateway.sendTransaction({ to, data: (await calls(world, two)).stated });
    expect(await openedEvent(world, stated)).to.deep.equal(await openedEvent(world, plain));
    const { failures } = await executeBatch(world, gateway, [(await calls(world, three)).stated]);
    expect(failures).to.deep.equal([]);
    const [first, ...others] = await Promise.all([one, two, three].map((job) => storedDispute(world, job)));
    // Each was opened in its own second.
    const timeless = (dispute: Record<string, unknown> | undefined) => ({ ...dispute, openedAt: 0, ruleFrom: 0 });
    for (const other of others) expect(timeless(other)).to.deep.equal(timeless(first));
  });

  it("costs its calldata: less than 3,000 gas", async () => {
    const world = await freshWorld();
    const [one, two] = [await settledJob(world), await settledJob(world)];
    // The first dispute of an account pays for its counter.
    await disputedJob(world);
    const plain = await executeBatch(world, world.gateway, [(await calls(world, one)).plain]);
    const stated = await executeBatch(world, world.gateway, [(await calls(world, two)).stated]);
    expect(Number(stated.gasUsed - plain.gasUsed)).to.be.within(1, 2_999);
  });

  it("gives no right to dispute, and cut arguments count as none", async () => {
    const { world, escrow, stranger, otherGateway, gateway } = await freshWorld();
    const job = await settledJob(world);
    const { plain, stated } = await calls(world, job);
    for (const sender of [stranger, otherGateway]) {
      const { failures } = await executeBatch(world, sender, [stated]);
      expect(escrow.interface.parseError(failures[0]?.reason as string)?.name).to.equal("Dispute_NotAParty");
    }
    const short = await executeBatch(world, gateway, [plain.slice(0, -2), plain.slice(0, -64)]);
    expect(short.failures.map(({ reason }) => reason)).to.deep.equal(["0x", "0x"]);
    expect((await escrow.disputeOf(job.id)).openedAt).to.equal(0n);
  });
});
