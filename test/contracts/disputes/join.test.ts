/** The operator's dispute is the wallet's, too: it adds its own hash before anybody rules. */
import { expect } from "chai";
import { executeBatch } from "../support/batch.ts";
import { actingAs, nextBlockAt, now } from "../support/chain.ts";
import {
  type DisputedJob,
  disputedJob,
  disputedProvenJob,
  OTHER_HASH,
  Ruling,
  sendDispute,
  sendJoin,
  sendVote,
  settledJob,
} from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { completionOf, PROOF_HASH } from "../support/jobs.ts";
import { NO_SIGNATURE, signCompletion } from "../support/sign.ts";
import { buyCredits, type World } from "../support/world.ts";

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

    it("is what no ruling forestalls: neither a vote nor the panel itself is a second too early", async () => {
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

  it("takes any hash: that it received what the worker signed, or nothing, is evidence, too", async () => {
    for (const hash of [PROOF_HASH, NO_SIGNATURE.r]) {
      const world = await freshWorld();
      const job = await disputedJob(world);
      const sent = sendJoin(world, job, hash);
      await expect(sent).to.emit(world.escrow, "DisputeJoined").withArgs(job.id, world.client.address, hash);
    }
  });

  it("beside openDispute in one batch is right whether its operator came first or nobody", async () => {
    for (const [first, failed, error] of [
      ["the operator", 0, "Job_WrongState"],
      ["nobody", 1, "Dispute_AlreadyJoined"],
    ] as const) {
      const { world, escrow, client, worker } = await freshWorld();
      const job = await settledJob(world);
      if (first === "the operator") await sendDispute(world, job, { receivedHash: NO_SIGNATURE.r });
      const completion = completionOf(job);
      const signature = await signCompletion(escrow, worker.key, completion);
      const { failures } = await executeBatch(world, client, [
        escrow.interface.encodeFunctionData("openDispute", [OTHER_HASH, completion, signature]),
        escrow.interface.encodeFunctionData("joinDispute", [job.id, OTHER_HASH]),
      ]);
      const told = failures.map(({ index, reason }) => [index, escrow.interface.parseError(reason)?.name]);
      expect(told, first).to.deep.equal([[failed, error]]);
      const { joined, byOperator, ruleFrom } = await escrow.disputeOf(job.id);
      expect([joined, byOperator], first).to.deep.equal([first === "the operator", first === "the operator"]);
      expect(ruleFrom, first).to.equal(await now());
    }
  });
});
