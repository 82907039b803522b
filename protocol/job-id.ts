import { bytesToHex, type Hex } from "viem";

/** Job id on chain: `bytes16`, a UUIDv7. */
export type ChainJobId = Hex;

const API_ID = /^job_[0-9a-f]{32}$/;
const CHAIN_ID = /^0x[0-9a-f]{32}$/;

/** A new UUIDv7 (RFC 9562) as `bytes16`: 48 bits of milliseconds, then 74 random bits. Unique across gateways. */
export function newJobId(now: number = Date.now()): ChainJobId {
  // Web Crypto and typed arrays only: this file runs in browsers too.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  new DataView(bytes.buffer).setUint32(0, Math.floor(now / 0x1_0000));
  new DataView(bytes.buffer).setUint16(4, now % 0x1_0000);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytesToHex(bytes);
}

/** `0x018f…` → `job_018f…`. */
export function toApiJobId(id: Hex): string {
  const lower = id.toLowerCase();
  if (!CHAIN_ID.test(lower)) throw new RangeError(`not a bytes16 job id: ${id}`);
  return `job_${lower.slice(2)}`;
}

/** `job_018f…` → `0x018f…`; null if it is not a job id, so that a route can answer 404. */
export function fromApiJobId(id: string): ChainJobId | null {
  return API_ID.test(id) ? `0x${id.slice(4)}` : null;
}
