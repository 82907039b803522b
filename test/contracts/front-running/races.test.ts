/**
 * Races that are decided by who is first, because both calls are somebody's right: what the loser still has. A worker's proof stands
 * against its gateway's second thoughts; the gateway's answer to a proof of a text that it did not deliver is a dispute.
 */
import { expect } from "chai";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { books, moved } from "../support/books.ts";
import { nextBlockAt } from "../support/chain.ts";
import { Ruling, sendRuling } from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import { endByStrangers, inOneBlock } from "../support/front-running.ts";
import { acknowledgedJob, completionOf, PROOF_HASH, sendAcknowledge, sendComplete } from "../support/jobs.ts";
import { signCompletion } from "../support/sign.ts";
import { completing, proving } from "./pending.ts";

async function started() {
  const world = await freshWorld();
  await world.token.mint(world.treasury, 10_000_000n);
  const before = await books(world);
  return { world, before, job: await acknowledgedJob(world) };
}

describe("A worker's proof and its gateway's fail in one block", () => {
  for (const [first, winner, due] of [
    ["the proof", [true, false], { free: -60n, worker: 540_000n, treasury: 60_000n, escrow: -600_000n }],
    ["the fail", [true, false], {}],
  ] as const) {
    it(`end as ${first} says when it is first`, async () => {
      const { world, before, job } = await started();
      const { escrow, gateway } = world;
      const failing = {
        from: gateway,
        to: await escrow.getAddress(),
        data: escrow.interface.encodeFunctionData("fail", [job.id, 2]),
      };
      const proof = await proving(world, job);
      const order = first === "the proof" ? [proof, failing] : [failing, proof];
      expect(await inOneBlock(job.lockedAt + 20, order)).to.deep.equal(winner);
      expect(moved(before, await endByStrangers(world, job, [completionOf(job)]))).to.deep.equal(due);
    });
  }
});

describe("A late proof of a first worker ahead of the settlement of a second one", () => {
  it("costs the usurper its stake and the client nothing: the gateway disputes what it did not deliver", async () => {
    const { world, before, job } = await started();
    const { escrow, gateway, rival, worker } = world;
    // The first worker never answered, the gateway went on to the rival, whose text the client has.
    const settling = await completing(world, job, { worker: rival, attempt: 2 });
    const forged = completionOf(job, { proofHash: answerHash("never delivered") });
    const signature = await signCompletion(escrow, worker.key, forged);
    const usurping = {
      from: world.workerOwner,
      to: await escrow.getAddress(),
      data: escrow.interface.encodeFunctionData("submitProof", [forged, signature]),
    };
    expect(await inOneBlock(job.lockedAt + 90, [usurping, settling])).to.deep.equal([true, false]);
    await escrow.connect(gateway).openDispute(PROOF_HASH, forged, signature);
    await sendRuling(world, job, Ruling.WorkerAtFault);
    // Known limitation: the rival's work of this one job is not paid.
    expect(moved(before, await books(world))).to.deep.equal({ stake: -500_000_000n });
  });

  it("comes to nothing once the second one is acknowledged on chain", async () => {
    const { world, job } = await started();
    const { escrow, rival } = world;
    await sendAcknowledge(world, job, { worker: rival, attempt: 2 });
    const proof = await proving(world, job);
    const settling = await completing(world, job, { worker: rival, attempt: 2 });
    expect(await inOneBlock(job.lockedAt + 90, [proof, settling])).to.deep.equal([false, true]);
    await nextBlockAt(job.lockedAt + 91);
    await sendComplete(world, job, { worker: rival, attempt: 2 });
    expect((await escrow.jobOf(job.id)).worker).to.equal(rival.id);
  });
});
