/** The operator's dispute is the wallet's, too: it adds its own hash before anybody rules. */
import { expect } from "chai";
import { books } from "../support/books.ts";
import { actingAs, nextBlockAt, now } from "../support/chain.ts";
import {
  type DisputedJob,
  disputedJob,
  disputedProvenJob,
  OTHER_HASH,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendJoin,
  sendRuling,
  sendVote,
  settledJob,
} from "../support/disputes.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { lockJob, PROOF_HASH, sendAcknowledge, sendFinalize, sendProof } from "../support/jobs.ts";
import { NO_SIGNATURE } from "../support/sign.ts";
import { buyCredits, OPERATOR, RESERVE_CREDITS, type World } from "../support/world.ts";

/** Seconds that a joiner has at least. */
const INCLUSION = 30;

/** With the end of the job's own window: 90 s after the settlement, or an hour after the proof. */
const origins: [string, (world: World) => Promise<DisputedJob>, number][] = [
  ["settled", (world) => disputedJob(world), 90],
  ["proven", (world) => disputedProvenJob(world), 30 + 3_600],
];

for (const [from, enter, windowEnd] of origins) {
  describe(`joinDispute of a ${from} job that its operator disputed`, () => {
    it("is possible until the end of the job's own window, that second excluded", async () => {
      const { world, escrow, client } = await freshWorld();
      const late = await enter(world);
      const early = await enter(world);
      // The dispute itself begins later and lasts longer: it changes nothing about this bound.
      expect(late.ruleFrom - late.lockedAt).to.be.within(windowEnd, windowEnd + 5);
      await nextBlockAt(late.ruleFrom);
      await expectRevert(sendJoin(world, late), "Job_TooLate", late.id, late.ruleFrom, late.ruleFrom);
      await nextBlockAt(early.ruleFrom - 1);
      const sent = sendJoin(world, early);
      await expect(sent).to.emit(escrow, "DisputeJoined").withArgs(early.id, client.address, OTHER_HASH);
    });

    it("takes no bond and moves no money", async () => {
      const { world, escrow, client } = await freshWorld();
      const job = await enter(world);
      const [before, owed] = [await escrow.accountOf(client.address), await escrow.liabilities()];
      await sendJoin(world, job);
      expect(await escrow.accountOf(client.address)).to.deep.equal(before);
      expect(await escrow.liabilities()).to.deep.equal(owed);
      expect((await escrow.disputeOf(job.id)).byOperator).to.equal(true);
    });

    it("happens once", async () => {
      const world = await freshWorld();
      const job = await enter(world);
      await sendJoin(world, job);
      await expectRevert(sendJoin(world, job), "Dispute_AlreadyJoined", job.id);
    });

    it("lets the panel rule from then on, in the same second", async () => {
      const { world, escrow, panel } = await freshWorld();
      const job = await enter(world);
      await sendJoin(world, job);
      const { ruleFrom } = await escrow.disputeOf(job.id);
      expect(ruleFrom).to.equal(await now());
      await sendVote(world, job, Ruling.WorkerAtFault, world.arbiters[0]);
      await expect(sendVote(world, job, Ruling.WorkerAtFault, world.arbiters[1])).to.emit(escrow, "DisputeResolved");
      expect(Number((await escrow.jobOf(job.id)).status)).to.equal(6);
      expect(await panel.votesFor(job.id, Ruling.WorkerAtFault)).to.equal(2);
    });

    it("comes before any ruling: neither a vote nor the panel is a second too early", async () => {
      const { world, escrow, panel } = await freshWorld();
      const job = await enter(world);
      const asPanel = escrow.connect(await actingAs(panel));
      await nextBlockAt(job.ruleFrom - 2);
      const refused = sendVote(world, job, Ruling.Rejected);
      await expectRevert(refused, "Panel_TooEarly", job.id, job.ruleFrom, job.ruleFrom - 2);
      await nextBlockAt(job.ruleFrom - 1);
      await expectRevert(asPanel.rule(job.id, Ruling.Rejected), "Job_TooEarly", job.id, job.ruleFrom, job.ruleFrom - 1);
      await nextBlockAt(job.ruleFrom);
      await expect(asPanel.rule(job.id, Ruling.Rejected)).to.emit(escrow, "DisputeResolved");
    });
  });
}

describe("joinDispute", () => {
  it("is the job's wallet's alone", async () => {
    const { world, escrow, stranger, gateway, otherGateway, workerOwner, owner, arbiters } = await freshWorld();
    await buyCredits(world, stranger, 1_000);
    const job = await disputedJob(world);
    for (const caller of [stranger, gateway, otherGateway, workerOwner, owner, ...arbiters]) {
      const refused = escrow.connect(caller).joinDispute(job.id, OTHER_HASH);
      await expectRevert(refused, "Dispute_NotAParty", job.id, caller.address);
    }
  });

  it("takes any hash, also the worker's own or that of nothing", async () => {
    for (const hash of [PROOF_HASH, NO_SIGNATURE.r]) {
      const world = await freshWorld();
      const job = await disputedJob(world);
      const sent = sendJoin(world, job, hash);
      await expect(sent).to.emit(world.escrow, "DisputeJoined").withArgs(job.id, world.client.address, hash);
    }
  });

  for (const before of [31, 30, 29, 1]) {
    it(`has ${Math.max(before, INCLUSION)} s after a dispute ${before} s before the end`, async () => {
      for (const left of [1, 0]) {
        const { world, escrow } = await freshWorld();
        const job = await settledJob(world);
        await nextBlockAt(job.settledAt + 90 - before);
        await sendDispute(world, job, { receivedHash: NO_SIGNATURE.r });
        const until = (await now()) + Math.max(before, INCLUSION);
        expect((await escrow.disputeOf(job.id)).ruleFrom).to.equal(until);
        await nextBlockAt(until - left);
        if (left > 0) await sendJoin(world, job);
        else await expectRevert(sendJoin(world, job), "Job_TooLate", job.id, until, until);
      }
    });
  }

  it("is what the wallet's openDispute does once its operator came first", async () => {
    const { world, escrow, client, token } = await freshWorld();
    const job = await settledJob(world);
    await nextBlockAt(job.settledAt + 89);
    await sendDispute(world, job, { receivedHash: NO_SIGNATURE.r });
    await nextBlockAt(job.settledAt + 89 + INCLUSION - 1);
    const sent = sendDispute(world, job, { by: client });
    await expect(sent).to.emit(escrow, "DisputeJoined").withArgs(job.id, client.address, OTHER_HASH);
    await expectTokens(sent, token, client, 0);
    await expectRevert(sendDispute(world, job, { by: client }), "Dispute_AlreadyJoined", job.id);
    await expectRevert(sendDispute(world, job), "Job_WrongState");
  });
});

describe("The signed hash, joined to the operator's dispute of a proven job", () => {
  it("saves the operator's bond from a client and a worker that share the text", async () => {
    const { world, escrow, token, worker } = await freshWorld();
    const job = await disputedProvenJob(world);
    const before = await token.balanceOf(worker.payout);
    await sendJoin(world, job, PROOF_HASH);
    await expect(sendRuling(world, job, Ruling.Rejected))
      .to.emit(escrow, "ReserveChanged")
      .withArgs(OPERATOR, job.id, 5, RESERVE_CREDITS, 0);
    expect(await token.balanceOf(worker.payout)).to.equal(before);
    // The worker has its pay as ever.
    expect((await escrow.jobOf(job.id)).status).to.equal(3);
    await books(world);
  });

  for (const [byte, reserve] of [
    [0, RESERVE_CREDITS - 60],
    [6, RESERVE_CREDITS - 60],
    [7, RESERVE_CREDITS],
    [31, RESERVE_CREDITS],
  ] as const) {
    it(`counts by its first seven bytes: another byte ${byte} leaves a reserve of ${reserve}`, async () => {
      const { world, escrow } = await freshWorld();
      const job = await disputedProvenJob(world);
      const other = Buffer.from(PROOF_HASH.slice(2), "hex");
      other[byte] = (other[byte] as number) ^ 1;
      await sendJoin(world, job, `0x${other.toString("hex")}`);
      await sendRuling(world, job, Ruling.Rejected);
      expect((await escrow.operatorOf(OPERATOR)).reserve).to.equal(reserve);
      await books(world);
    });
  }

  it("changes nothing about the other ends: silence, and a gateway at fault", async () => {
    for (const [end, reserve] of [
      [(world: World, job: DisputedJob) => sendExpire(world, job), RESERVE_CREDITS],
      [(world: World, job: DisputedJob) => sendRuling(world, job, Ruling.GatewayAtFault), RESERVE_CREDITS - 60],
    ] as const) {
      const { world, escrow } = await freshWorld();
      const job = await disputedProvenJob(world);
      await sendJoin(world, job, PROOF_HASH);
      await end(world, job);
      expect((await escrow.jobOf(job.id)).status).to.equal(6);
      expect((await escrow.operatorOf(OPERATOR)).reserve).to.equal(reserve);
      await books(world);
    }
  });
});

describe("What an operator can lose for a job that it never vouched for", () => {
  for (const [charge, most] of [
    [99, 99],
    [100, 100],
    [101, 100],
    [2_560, 100],
  ] as const) {
    it(`is ${most} credits of a charge of ${charge}, as bond or as the worker's pay`, async () => {
      for (const ruling of [Ruling.Rejected, Ruling.GatewayAtFault]) {
        const { world, escrow } = await freshWorld();
        // 20 credits a 1,000 tokens.
        const completionTokens = charge * 50;
        const job = await lockJob(world, { maxTokens: completionTokens });
        await sendAcknowledge(world, job);
        await sendProof(world, job, { completionTokens });
        await sendDispute(world, job, { completionTokens });
        expect((await escrow.disputeOf(job.id)).bond).to.equal(most);
        await sendRuling(world, job, ruling);
        const { reserve, held } = await escrow.operatorOf(OPERATOR);
        expect([reserve, held]).to.deep.equal([BigInt(RESERVE_CREDITS - most), 0n]);
        await books(world);
      }
    });
  }

  it("is the whole charge of a finalized job once its worker signed two answers", async () => {
    const { world, escrow } = await freshWorld();
    // 2,560 credits; the equivocation gives back the fee of 256.
    const completionTokens = 128_000;
    const job = await lockJob(world, { maxTokens: completionTokens });
    await sendAcknowledge(world, job);
    await sendProof(world, job, { completionTokens });
    await nextBlockAt((await now()) + 3_600);
    await sendFinalize(world, job, { completionTokens });
    await sendEquivocation(world, job, { completionTokens, proofHash: OTHER_HASH });
    await sendDispute(world, job, { by: world.client, completionTokens });
    await sendRuling(world, job, Ruling.GatewayAtFault);
    expect((await escrow.operatorOf(OPERATOR)).reserve).to.equal(RESERVE_CREDITS - (2_560 - 256));
    await books(world);
  });
});
