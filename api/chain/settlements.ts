/** Completions as the chain's events tell them, with their signatures where they have one. */
import { type Hex, parseEventLogs } from "viem";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import type { Completion } from "../../protocol/messages.ts";
import { signedCompletion } from "../../protocol/words.ts";
import type { Rpc } from "./rpc.ts";

/** A Completion and its signature as the contract takes it; null where the contract has the Completion's digest. */
export type Signed = { completion: Completion; byWorker: { r: Hex; vs: Hex } | null };

/** The Completion that was proven in a transaction; null if that was another job's. */
export async function provenIn(rpc: Pick<Rpc, "client">, jobId: Hex, proofTx: Hex): Promise<Signed | null> {
  const { logs } = await rpc.client.getTransactionReceipt({ hash: proofTx });
  const events = parseEventLogs({ abi: inferenceEscrowAbi, logs, eventName: "JobProven" });
  const proven = events.find(({ args }) => args.jobId === jobId)?.args;
  if (proven === undefined) return null;
  return { completion: signedCompletion(proven), byWorker: null };
}

/** The Completion that was settled in a transaction, with its signature; null if that was another job's. */
export async function settledIn(rpc: Pick<Rpc, "client">, jobId: Hex, settlementTx: Hex): Promise<Signed | null> {
  const { logs } = await rpc.client.getTransactionReceipt({ hash: settlementTx });
  const events = parseEventLogs({ abi: inferenceEscrowAbi, logs, eventName: "JobSettled" });
  const settled = events.find(({ args }) => args.jobId === jobId)?.args;
  if (settled === undefined) return null;
  const { r, vs } = settled;
  // A finalized job's event has no signature: the contract has its digest on record and does not look at these two.
  return { completion: signedCompletion(settled), byWorker: { r, vs } };
}
