/**
 * What a gateway says it sent to a job's client: evidence that arbiters read. It is signed, and stands behind the arguments of the operator's
 * `openDispute`. The contract ignores it there, and everybody finds it in the transaction: hash, `complete`, `r`, `vs`, a word each.
 */
import { concat, type Hex, numberToHex, size, slice } from "viem";

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

/** Selector, received hash, Completion (five words) and signature (two words). */
const OPEN_DISPUTE_BYTES = 4 + 32 * 8;
const DELIVERY_BYTES = 32 * 4;

/** The calldata of `openDispute` with the operator's statement. */
export function withDelivery(openDispute: Hex, { sentHash, complete, signature }: SignedDelivery): Hex {
  return concat([openDispute, sentHash, numberToHex(complete ? 1 : 0, { size: 32 }), signature.r, signature.vs]);
}

/** The statement behind the arguments of an `openDispute`; null where there is none, or something else. */
export function deliveryBehind(openDispute: Hex, jobId: Hex): SignedDelivery | null {
  if (size(openDispute) !== OPEN_DISPUTE_BYTES + DELIVERY_BYTES) return null;
  const word = (index: number) =>
    slice(openDispute, OPEN_DISPUTE_BYTES + 32 * index, OPEN_DISPUTE_BYTES + 32 * (index + 1));
  const complete = BigInt(word(1));
  if (complete > 1n) return null;
  return { jobId, sentHash: word(0), complete: complete === 1n, signature: { r: word(2), vs: word(3) } };
}
