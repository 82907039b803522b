import type { Hex } from "viem";

/** `0xab…` → `sha256:ab…`, the API's form. */
export function toProofHash(hash: Hex): string {
  return `sha256:${hash.slice(2).toLowerCase()}`;
}

/** `sha256:ab…` → `0xab…`; null if it is malformed. */
export function fromProofHash(text: string): Hex | null {
  return /^sha256:[0-9a-fA-F]{64}$/.test(text) ? `0x${text.slice(7).toLowerCase()}` : null;
}
