/** What the client's dispute key signs. */
import { type LocalAccount, zeroAddress, zeroHash } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { expect, it } from "vitest";
import type { ChainView } from "../../../client/chain.ts";
import { openDispute } from "../../../client/dispute.ts";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import type { DisputeRequest } from "../../../protocol/messages.ts";
import type { JobStory } from "../../../verify/story.ts";

it("signs for the bond of the whole lock: a proven job can be settled for more", async () => {
  const jobId = newJobId();
  const now = Math.floor(Date.now() / 1000);
  const place = { block: 5n, tx: zeroHash };
  const proof = { jobId, usage: 0n, proofHash: answerHash("a text"), credits: 8, finalizeFrom: now + 3_600 };
  const story = {
    jobId,
    locked: { ...place, args: { jobId, credits: 80 } },
    settled: null,
    proven: { ...place, args: proof },
    disputes: [],
  } as unknown as JobStory;
  const address = privateKeyToAddress(answerHash("a dispute key"));
  const signed: DisputeRequest[] = [];
  const signer = {
    address,
    signTypedData: async ({ message }: { message: DisputeRequest }) => {
      signed.push(message);
      throw new Error("nothing is sent");
    },
  } as unknown as LocalAccount;
  const chain = {
    escrow: zeroAddress,
    client: { getBlock: async () => ({ timestamp: BigInt(now) }) },
    deployment: async () => ({ chainId: 1, windows: { completion: 120, inclusion: 30, dispute: 60 } }),
    disputeKeyOf: async () => [address, 1, 8, 0],
    watch: async () => null,
  } as unknown as ChainView;
  const ask = async () => ({ status: 409, body: {} });
  const context = { chain, signer, keyOf: zeroAddress, ask, tell: () => {} };
  expect(await openDispute(context, story, answerHash("another text"))).toBe(null);
  expect(signed).toMatchObject([{ jobId, workerHash: proof.proofHash, maxBond: 80 }]);
});
