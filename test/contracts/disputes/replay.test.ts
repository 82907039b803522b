/** A Completion signed for one place is worth nothing in another: not for a payment, not as evidence in a dispute, not as a half of an equivocation. */

import { expect } from "chai";
import { getAddress } from "viem";
import type { Completion } from "../../../protocol/messages.ts";
import { compactSignature, escrowDomain, jobMessageTypes, registryDomain } from "../../../protocol/messages.ts";
import { OTHER_HASH, settledJob } from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld, freshWorldWithoutReserve } from "../support/fresh.ts";
import { acknowledgedJob, acknowledgement, completionOf, lockJob, sendComplete, sendProof } from "../support/jobs.ts";
import { type Signature, signCompletion } from "../support/sign.ts";
import { CHAIN_ID, type World } from "../support/world.ts";

type Domain = Record<string, unknown>;

async function signedUnder(world: World, domain: Domain, message: Completion): Promise<Signature> {
  return compactSignature(
    await world.worker.key.signTypedData({ domain, types: jobMessageTypes, primaryType: "Completion", message }),
  );
}

/** The right domain with one thing changed. */
const changes: [string, (domain: Domain, world: World) => Promise<Domain>][] = [
  ["another chain", async (domain) => ({ ...domain, chainId: 1 })],
  [
    "another contract",
    async (domain, { panel }) => ({ ...domain, verifyingContract: getAddress(await panel.getAddress()) }),
  ],
  ["another name", async (domain) => ({ ...domain, name: "ArbitrationPanel" })],
  ["another version", async (domain) => ({ ...domain, version: "2" })],
  ["the registry", async (_, { registry }) => registryDomain(CHAIN_ID, getAddress(await registry.getAddress()))],
];

describe("A Completion signed for", () => {
  for (const [place, change] of changes) {
    it(`${place} proves nothing here`, async () => {
      const { world, escrow, worker, gateway } = await freshWorld();
      const job = await settledJob(world);
      const domain = await change(escrowDomain(CHAIN_ID, getAddress(await escrow.getAddress())), world);
      const [one, two] = [completionOf(job), completionOf(job, { proofHash: OTHER_HASH })];
      const foreign = await signedUnder(world, domain, two);
      await expect(
        escrow.connect(gateway).openDispute(OTHER_HASH, one, await signedUnder(world, domain, one)),
      ).to.be.revertedWithCustomError(escrow, "Job_NotTheWorker");
      const here = await signCompletion(escrow, worker.key, one);
      for (const args of [
        [one, here, two, foreign],
        [two, foreign, one, here],
      ] as const) {
        await expectRevert(escrow.proveEquivocation(...args), "Job_NotTheWorker");
      }
      // The signer recovered is some unknown key: nobody is paid.
      const locked = await lockJob(world);
      const signature = await signedUnder(world, domain, completionOf(locked));
      await expectRevert(sendComplete(world, locked, { signature }), "Job_WorkerNotEligible");
      const open = await acknowledgedJob(world);
      await expect(
        escrow.submitProof(completionOf(open), await signedUnder(world, domain, completionOf(open))),
      ).to.be.revertedWithCustomError(escrow, "Job_NotTheWorker");
    });
  }
});

describe("An Acknowledgement and an Assignment", () => {
  it("of one deployment are worth nothing in another", async () => {
    const [second, first] = [await freshWorldWithoutReserve(), await freshWorld()];
    const job = await lockJob(second);
    const [assignment, byGateway, byWorker] = await acknowledgement(second, job);
    const [, foreignGateway, foreignWorker] = await acknowledgement(first, job);
    const mine = second.escrow.connect(second.stranger);
    await expectRevert(mine.acknowledge(assignment, foreignGateway, byWorker), "Job_NotAssigned");
    await expectRevert(mine.acknowledge(assignment, byGateway, foreignWorker), "Job_NotTheWorker");
    await mine.acknowledge(assignment, byGateway, byWorker);
    await sendProof(second, job);
  });
});
