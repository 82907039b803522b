/** EIP-712: what protocol/messages.ts signs is what the contracts accept, and nothing signed for one place works in another. */
import { expect } from "chai";
import { getAddress } from "viem";
import {
  type Completion,
  compactSignature,
  escrowDomain,
  jobMessageTypes,
  registryDomain,
} from "../../../protocol/messages.ts";
import { ethers } from "../support/chain.ts";
import { OTHER_HASH, settledJob } from "../support/disputes.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld, freshWorldWithoutReserve } from "../support/fresh.ts";
import { acknowledgedJob, acknowledgement, completionOf, lockJob, sendComplete, sendProof } from "../support/jobs.ts";
import { type Signature, signCompletion } from "../support/sign.ts";
import { CHAIN_ID, type World } from "../support/world.ts";

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The second, equally valid form of a signature (n − s, other parity), as 65 bytes would carry it. */
function malleated({ r, vs }: Signature): Signature {
  const bits = BigInt(vs);
  const parity = bits >> 255n;
  const s = ORDER - (bits & ((1n << 255n) - 1n));
  // EIP-2098 has no room for a high s: its top bit lands on the parity.
  const word = (s | ((1n - parity) << 255n)) & ((1n << 256n) - 1n);
  return { r, vs: `0x${word.toString(16).padStart(64, "0")}` };
}

describe("Signatures", () => {
  it("share one domain: the contract's separator is the one of protocol/messages.ts", async () => {
    const { escrow } = await freshWorld();
    const domain = escrowDomain(CHAIN_ID, getAddress(await escrow.getAddress()));
    expect(await escrow.domainSeparator()).to.equal(ethers.TypedDataEncoder.hashDomain(domain));
  });

  it("of one job are worth nothing in another", async () => {
    const world = await freshWorld();
    const [first, second] = [await lockJob(world), await lockJob(world)];
    const signature = await signCompletion(world.escrow, world.worker.key, completionOf(first));
    await expectRevert(sendComplete(world, second, { signature }), "Job_WorkerNotEligible");
  });

  it("with a high s are refused", async () => {
    const { world, escrow, worker } = await freshWorld();
    const job = await lockJob(world);
    const signature = await signCompletion(escrow, worker.key, completionOf(job));
    // n − s needs 256 bits, of which the compact form takes one for the parity: what is left is another signature.
    await expect(sendComplete(world, job, { signature: malleated(signature) })).to.revert(ethers);
    const [assignment, byGateway, byWorker] = await acknowledgement(world, job);
    await expect(escrow.acknowledge(assignment, malleated(byGateway), byWorker)).to.revert(ethers);
    await expect(escrow.acknowledge(assignment, byGateway, malleated(byWorker))).to.revert(ethers);
  });

  it("with an s above half the order are refused by name", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    const s = ORDER / 2n + 1n;
    const signature: Signature = { r: `0x${"11".repeat(32)}`, vs: `0x${s.toString(16).padStart(64, "0")}` };
    await expectRevert(sendComplete(world, job, { signature }), "ECDSAInvalidSignatureS", signature.vs);
  });

  it("that recover nobody are refused by name", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    const signature: Signature = { r: `0x${"00".repeat(32)}`, vs: `0x${"00".repeat(31)}01` };
    await expectRevert(sendComplete(world, job, { signature }), "ECDSAInvalidSignature");
  });

  it("of an Acknowledgement are no Completion and the other way round", async () => {
    const { world, escrow } = await freshWorld();
    const job = await lockJob(world);
    const [assignment, byGateway, byWorker] = await acknowledgement(world, job);
    await expectRevert(sendComplete(world, job, { signature: byWorker }), "Job_WorkerNotEligible");
    const completion = await signCompletion(escrow, world.worker.key, completionOf(job));
    await expectRevert(escrow.acknowledge(assignment, byGateway, completion), "Job_NotTheWorker");
  });
});

// A Completion signed for one place is worth nothing in another: not for a payment, not as evidence in a dispute,
// not as a half of an equivocation.

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
      const refused = escrow.connect(gateway).openDispute(OTHER_HASH, one, await signedUnder(world, domain, one));
      await expectRevert(refused, "Job_NotTheWorker");
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

it("Signatures of one deployment are worth nothing in another", async () => {
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
