import { bytesToHex, type Hex } from "viem";

/** Job id on chain: `bytes16`, a UUIDv7. */
export type ChainJobId = Hex;

const API_ID = /^job_[0-9a-f]{32}$/;
const CHAIN_ID = /^0x[0-9a-f]{32}$/;

/**
 * A new UUIDv7 (RFC 9562) as `bytes16`: 48 bits of milliseconds, then 74 random bits. Unique across gateways.
 *
 * @example
 * newJobId(0).slice(0, 14); // "0x000000000000"
 */
export function newJobId(now: number = Date.now()): ChainJobId {
  // Web Crypto and plain bytes: the explorer in the browser reads job ids too.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const view = new DataView(bytes.buffer);
  view.setUint16(0, Math.floor(now / 2 ** 32));
  view.setUint32(2, now % 2 ** 32);
  view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x70);
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  return bytesToHex(bytes);
}

/**
 * `0x018f…` → `job_018f…`.
 *
 * @example
 * toApiJobId("0x018F3B5C0A1B7C2D8E3F405162738495"); // "job_018f3b5c0a1b7c2d8e3f405162738495"
 */
export function toApiJobId(id: Hex): string {
  const lower = id.toLowerCase();
  if (!CHAIN_ID.test(lower)) throw new RangeError(`not a bytes16 job id: ${id}`);
  return `job_${lower.slice(2)}`;
}

/**
 * `job_018f…` → `0x018f…`; null if it is not a job id, so that a route can answer 404.
 *
 * @example
 * fromApiJobId("job_018f3b5c0a1b7c2d8e3f405162738495"); // "0x018f3b5c0a1b7c2d8e3f405162738495"
 */
export function fromApiJobId(id: string): ChainJobId | null {
  return API_ID.test(id) ? `0x${id.slice(4)}` : null;
}

/**
 * The zero job id: a payout for a whole batch, a change of a reserve without a dispute.
 *
 * @example
 * isNoJob("0x00000000000000000000000000000000"); // true
 */
export const isNoJob = (jobId: Hex): boolean => /^0x0+$/.test(jobId);
