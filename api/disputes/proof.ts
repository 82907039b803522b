/** The worker's signed Completion where the gateway never got one: from the transaction in which the worker proved it. */
import {
  compactSignatureToSignature,
  type Hex,
  hashStruct,
  numberToHex,
  padHex,
  parseEventLogs,
  serializeSignature,
} from "viem";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { type Completion, jobMessageTypes } from "../../protocol/messages.ts";
import type { Rpc } from "../chain/rpc.ts";
import type { JobContext } from "../jobs/context.ts";
import { isSignedBy } from "../jobs/verdict.ts";

export type Signed = { completion: Completion; signature: Hex };

/** First 28 bytes of the Completion's struct hash: what the contract remembers of a proof. */
export function proofDigest(completion: Completion): Hex {
  const hash = hashStruct({ data: completion, types: jobMessageTypes, primaryType: "Completion" });
  return hash.slice(0, 2 + 56) as Hex;
}

/**
 * Reads the Completion from the event of the proof and its signature from the calldata. Both are static values of one call, so
 * they stand there one behind the other, whoever wrapped the call in whatever (a batch, a contract of the worker's).
 */
export async function provenCompletion(
  context: JobContext,
  rpc: Rpc,
  jobId: Hex,
  proofTx: Hex,
): Promise<Signed | null> {
  const [receipt, transaction] = await Promise.all([
    rpc.client.getTransactionReceipt({ hash: proofTx }),
    rpc.client.getTransaction({ hash: proofTx }),
  ]);
  const events = parseEventLogs({ abi: inferenceEscrowAbi, logs: receipt.logs, eventName: "JobProven" });
  const proven = events.find((event) => event.args.jobId === jobId)?.args;
  if (proven === undefined) return null;
  const { proofHash, promptTokens, completionTokens, completedAt } = proven;
  const completion = { jobId, proofHash, promptTokens, completionTokens, completedAt };
  const words = [
    padHex(jobId, { dir: "right" }),
    proofHash,
    ...[promptTokens, completionTokens, completedAt].map(word),
  ];
  const encoded = words.map((hex) => hex.slice(2)).join("");
  const { input } = transaction;
  for (let at = input.indexOf(encoded); at >= 0; at = input.indexOf(encoded, at + 1)) {
    const rest = input.slice(at + encoded.length, at + encoded.length + 128);
    if (rest.length < 128) continue;
    const signature = uncompressed(`0x${rest.slice(0, 64)}`, `0x${rest.slice(64)}`);
    if (signature !== null && (await isSignedBy(context, completion, signature, proven.worker))) {
      return { completion, signature };
    }
  }
  return null;
}

const word = (value: number): Hex => numberToHex(value, { size: 32 });

function uncompressed(r: Hex, yParityAndS: Hex): Hex | null {
  try {
    return serializeSignature(compactSignatureToSignature({ r, yParityAndS }));
  } catch {
    // Two words that are no signature: the same values can stand elsewhere in the calldata.
    return null;
  }
}
