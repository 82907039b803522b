import { type Hex, sha256, stringToBytes } from "viem";

/**
 * Hash of an answer: SHA-256 of the concatenated `content` of all its chunks, UTF-8. `shared/answer-hash.ts` takes it piece by piece.
 *
 * @example
 * answerHash("Hello"); // "0x185f8db32271fe25f561a6fc938b2e264306ec304eda518007d1764826381969"
 */
export function answerHash(text: string): Hex {
  return sha256(stringToBytes(text));
}

/**
 * `0xab…` → `sha256:ab…`, the API's form.
 *
 * @example
 * toProofHash(answerHash("Hello")); // "sha256:185f8db32271fe25f561a6fc938b2e264306ec304eda518007d1764826381969"
 */
export function toProofHash(hash: Hex): string {
  return `sha256:${hash.slice(2).toLowerCase()}`;
}

/**
 * `sha256:ab…` → `0xab…`; null if it is malformed.
 *
 * @example
 * fromProofHash("sha256:185f"); // null
 */
export function fromProofHash(text: string): Hex | null {
  return /^sha256:[0-9a-fA-F]{64}$/.test(text) ? `0x${text.slice(7).toLowerCase()}` : null;
}
