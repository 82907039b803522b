/** The worker's Completion as the chain tells it: for answers that this gateway never got, or has no record of. */
import { type Hex, hashStruct, parseEventLogs } from "viem";
import { jobDigests } from "../../protocol/digests.ts";
import { inferenceEscrowAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { type Completion, compactSignature, jobMessageTypes } from "../../protocol/messages.ts";
import { recoverSigner } from "../../protocol/secp256k1.ts";
import { decodePayee, decodeUsageWord } from "../../protocol/words.ts";
import type { Rpc } from "../chain/rpc.ts";
import type { JobContext } from "../jobs/context.ts";
import type { SignedCompletion } from "../store/stored-job.ts";

/** A Completion, and its signature as the contract takes it; null where the contract has the Completion's digest on record. */
export type Signed = { completion: Completion; byWorker: { r: Hex; vs: Hex } | null };

/** First 28 bytes of the Completion's struct hash: what the contract remembers of a proof. */
export function proofDigest(completion: Completion): Hex {
  const hash = hashStruct({ data: completion, types: jobMessageTypes, primaryType: "Completion" });
  return hash.slice(0, 2 + 56) as Hex;
}

/** The Completion that was proven in a transaction; null if that was another job's. */
export async function provenCompletion(rpc: Rpc, jobId: Hex, proofTx: Hex): Promise<Signed | null> {
  const { logs } = await rpc.client.getTransactionReceipt({ hash: proofTx });
  const events = parseEventLogs({ abi: inferenceEscrowAbi, logs, eventName: "JobProven" });
  const proven = events.find(({ args }) => args.jobId === jobId)?.args;
  if (proven === undefined) return null;
  const { proofHash, promptTokens, completionTokens, completedAt } = proven;
  return { completion: { jobId, proofHash, promptTokens, completionTokens, completedAt }, byWorker: null };
}

/** The Completion that was settled in a transaction, with its signature; null if that was another job's. */
export async function settledCompletion(rpc: Rpc, jobId: Hex, settlementTx: Hex): Promise<Signed | null> {
  const { logs } = await rpc.client.getTransactionReceipt({ hash: settlementTx });
  const events = parseEventLogs({ abi: inferenceEscrowAbi, logs, eventName: "JobSettled" });
  const settled = events.find(({ args }) => args.jobId === jobId)?.args;
  if (settled === undefined) return null;
  const { proofHash, usage, r, vs } = settled;
  const { promptTokens, completionTokens, completedAt } = decodeUsageWord(usage);
  // A finalized job's event has no signature: the contract has its digest on record and does not look at these two.
  return { completion: { jobId, proofHash, promptTokens, completionTokens, completedAt }, byWorker: { r, vs } };
}

/** The stored Completion as a dispute needs it, if the chain's worker of the job signed it; null if another one did. */
export async function storedCompletion(
  { chainId, escrow }: Pick<JobContext, "chainId" | "escrow">,
  { rpc, registry }: { rpc: Rpc; registry: Hex },
  { completion, signature }: SignedCompletion,
  worker: number,
): Promise<Signed | null> {
  const signer = recoverSigner(jobDigests(chainId, escrow).completion(completion), signature);
  if (signer === null) return null;
  const contract = { address: registry, abi: workerRegistryAbi } as const;
  const payee = await rpc.client.readContract({ ...contract, functionName: "payeeOf", args: [signer, 0] });
  return decodePayee(payee)?.id === worker ? { completion, byWorker: compactSignature(signature) } : null;
}
