/**
 * A gateway's statement of what it sent to a job's client: evidence that arbiters read. It is signed, and stands behind the arguments of
 * the operator's `openDispute`. The contract ignores it there, and everybody finds it in the transaction: hash, `complete`, `r`, `vs`, a
 * word each.
 */
import { concat, type Hex, numberToHex, size, slice } from "viem";
import { Ruling } from "./job-status.ts";

export const deliveryTypes = {
  Delivery: [
    { name: "jobId", type: "bytes16" },
    { name: "sentHash", type: "bytes32" },
    { name: "complete", type: "bool" },
  ],
} as const;

/**
 * `sentHash`: SHA-256 of the text that went to the client. `complete`: all of the reply was handed to the client's connection. Whether
 * it arrived there, no sender knows.
 */
export type Delivery = { jobId: Hex; sentHash: Hex; complete: boolean };
/** With its EIP-712 signature (domain: `escrowDomain`), as an EIP-2098 pair. */
export type SignedDelivery = Delivery & { signature: { r: Hex; vs: Hex } };

/** Selector, received hash, Completion (seven words) and signature (two words). */
const OPEN_DISPUTE_BYTES = 4 + 32 * 10;
const DELIVERY_BYTES = 32 * 4;

/**
 * The calldata of `openDispute` with the operator's statement.
 *
 * @example
 * const openDispute = encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "openDispute", args });
 * const data = withDelivery(openDispute, { jobId, sentHash, complete: true, signature });
 */
export function withDelivery(openDispute: Hex, { sentHash, complete, signature }: SignedDelivery): Hex {
  return concat([openDispute, sentHash, numberToHex(complete ? 1 : 0, { size: 32 }), signature.r, signature.vs]);
}

/**
 * The statement behind the arguments of an `openDispute`; null where there is none, or something else.
 *
 * @example
 * deliveryBehind(transaction.input, jobId)?.sentHash;
 */
export function deliveryBehind(openDispute: Hex, jobId: Hex): SignedDelivery | null {
  if (size(openDispute) !== OPEN_DISPUTE_BYTES + DELIVERY_BYTES) return null;
  const word = (index: number) =>
    slice(openDispute, OPEN_DISPUTE_BYTES + 32 * index, OPEN_DISPUTE_BYTES + 32 * (index + 1));
  const complete = BigInt(word(1));
  if (complete > 1n) return null;
  return { jobId, sentHash: word(0), complete: complete === 1n, signature: { r: word(2), vs: word(3) } };
}

/**
 * The evidence in an open dispute. `delivery`: null without a statement of a key that was the operator's signer then. `votes`: each
 * arbiter's last.
 */
export type DisputeEvidence = {
  byOperator: boolean;
  joinedHash: Hex | null;
  /** Its worker signed two answers. */
  convicted: boolean;
  delivery: Delivery | null;
  workerHash: Hex;
  votes: Iterable<number>;
};

/**
 * Why a person must read a dispute; null where the gateway's statement refutes it. That statement is the operator's own: it outweighs a hash that
 * a client named to the operator, and nothing that the wallet itself sent to the chain.
 *
 * @example
 * const evidence = { joinedHash: null, convicted: false, delivery: null, workerHash: answerHash(""), votes: [] };
 * whyRead({ ...evidence, byOperator: false }); // "its wallet opened it"
 */
export function whyRead({
  byOperator,
  joinedHash,
  convicted,
  delivery,
  workerHash,
  votes,
}: DisputeEvidence): string | null {
  if (!byOperator) return "its wallet opened it";
  if (joinedHash !== null) return "its wallet added its own hash";
  if (convicted) return "its worker signed two answers";
  if (delivery === null) return "no gateway signed what it sent";
  if (!delivery.complete) return "the gateway says that it did not send all of its reply";
  if (delivery.sentHash !== workerHash) return "the gateway says that it sent another text than the worker proved";
  if ([...votes].some((ruling) => ruling !== Ruling.Rejected)) return "an arbiter sees it otherwise";
  return null;
}
