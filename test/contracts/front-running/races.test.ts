/**
 * Races that are decided by who is first, because both calls are somebody's right: what the loser still has. A worker's proof stands
 * against its gateway's second thoughts; the gateway's answer to a proof of a text that it did not deliver is a dispute.
 */
import { expect } from "chai";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { items } from "../support/batch.ts";
import { books, moved } from "../support/books.ts";
import { Ruling, sendDispute, sendJoin, sendRuling } from "../support/disputes.ts";
import { freshWorld, rich } from "../support/fresh.ts";
import { endByStrangers, inOneBlock } from "../support/front-running.ts";
import { acknowledgedJob, PROOF_HASH } from "../support/jobs.ts";
import { NO_SIGNATURE } from "../support/sign.ts";
import { call, proving } from "./scenarios.ts";

async function started() {
  const world = await rich(freshWorld());
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
      const failing = await call(world, world.gateway, items(world).fail(job, 2));
      const proof = await proving(world, job);
      const order = first === "the proof" ? [proof, failing] : [failing, proof];
      expect(await inOneBlock(job.lockedAt + 20, order)).to.deep.equal(winner);
      expect(moved(before, await endByStrangers(world, job))).to.deep.equal(due);
    });
  }
});

it("A silent worker that copies the second one's hash loses its stake", async () => {
  const { world, before, job } = await started();
  const { gateway, rival, workerOwner } = world;
  // The first worker never answered, the gateway went on to the rival, whose text the client has.
  const passing = { worker: rival, attempt: 2, acknowledgeBy: job.lockedAt + 100 };
  const proofHash = answerHash("never delivered");
  const usurping = await call(world, workerOwner, items(world).submitProof(job, { proofHash }));
  const replacing = await call(world, gateway, items(world).acknowledge(job, passing));
  expect(await inOneBlock(job.lockedAt + 90, [usurping, replacing])).to.deep.equal([true, false]);
  await sendDispute(world, job, { receivedHash: PROOF_HASH, proofHash, signature: NO_SIGNATURE });
  // The wallet has the rival's text, too: with its hash the panel can rule at once.
  await sendJoin(world, job, PROOF_HASH);
  await sendRuling(world, job, Ruling.WorkerAtFault);
  // Known limitation: the rival's work of this one job is not paid.
  expect(moved(before, await books(world))).to.deep.equal({ stake: -500_000_000n });
});
