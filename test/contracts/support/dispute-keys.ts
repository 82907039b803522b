/** Disputes by a wallet's dispute key, with everything defaulted to a good case. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import type { PrivateKeyAccount } from "viem/accounts";
import type { Completion, DisputeRequest } from "../../../protocol/messages.ts";
import { signingKey } from "./actors.ts";
import { now } from "./chain.ts";
import { BOND, OTHER_HASH } from "./disputes.ts";
import { type Job, signedCompletion } from "./jobs.ts";
import { type Signature, signDisputeRequest } from "./sign.ts";
import type { World } from "./world.ts";

/** The client's dispute key. */
export const DISPUTE_KEY = signingKey("disputes of the client");
/** Disputes that it may have open. */
export const MOST_OPEN = 2;

/** The client names a dispute key. */
export async function nameDisputeKey(world: World, key = DISPUTE_KEY.address, mostOpen = MOST_OPEN): Promise<void> {
  await world.escrow.connect(world.client).setDisputeKey(key, mostOpen);
}

/** What the key signs for a job whose worker signed the default Completion: good for a minute, and for the whole bond. */
export async function disputeRequestOf(
  world: World,
  job: Job,
  overrides: Partial<DisputeRequest> = {},
): Promise<DisputeRequest> {
  const [{ proofHash }] = await signedCompletion(world, job);
  const { sequence } = await world.escrow.disputeKeyOf(world.client.address);
  return {
    jobId: job.id,
    receivedHash: OTHER_HASH,
    workerHash: proofHash,
    maxBond: BOND,
    keySequence: Number(sequence),
    expiresAt: (await now()) + 60,
    ...overrides,
  };
}

type ByKeyOptions = Partial<DisputeRequest> & {
  by?: HardhatEthersSigner;
  key?: PrivateKeyAccount;
  /** Instead of the key's. */
  signature?: Signature;
  /** Of the Completion that the relayer sends. */
  completion?: Partial<Completion>;
  /** Of the worker; instead of the true one. */
  byWorker?: Signature;
  /** What the relayer sends in the place of what was signed. */
  sent?: Partial<Pick<DisputeRequest, "receivedHash" | "maxBond" | "expiresAt">>;
};

/** Has a stranger bring a dispute of the client's key. */
export async function sendDisputeByKey(world: World, job: Job, options: ByKeyOptions = {}) {
  const { by = world.stranger, key = DISPUTE_KEY, signature, completion, byWorker, sent, ...overrides } = options;
  const request = await disputeRequestOf(world, job, overrides);
  const byKey = signature ?? (await signDisputeRequest(world.escrow, key, request));
  const [message, signed] = await signedCompletion(world, job, completion);
  const { receivedHash, maxBond, expiresAt } = { ...request, ...sent };
  return await world.escrow
    .connect(by)
    .disputeByKey(receivedHash, message, byWorker ?? signed, maxBond, expiresAt, byKey);
}
