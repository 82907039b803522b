/** Reads a range of blocks and audits it piece by piece: memory holds one piece, the wallets, and the jobs that are open. */
import { auditBlocks, beginRange, concludeRange, type RangeAudit, type RangeProgress } from "./audit-range.ts";
import { VerifyError } from "./chain.ts";
import type { EvidenceReader } from "./reader.ts";

/** Events of a piece, about: pieces grow and shrink to it. */
const EVENTS = 8_000;
const FIRST_PIECE = 64;

/**
 * `from`, `to`: both inclusive. `progress`: of an audit that was interrupted, which goes on behind the blocks that it has looked at.
 * `onPiece` hears of each piece; what it is given can be stored (`encodeProgress`).
 */
type RangeOptions = {
  from: bigint;
  to: bigint;
  progress?: RangeProgress | null;
  onPiece?: (progress: RangeProgress) => void | Promise<void>;
};

/**
 * Audits the money of every job in a range of blocks.
 *
 * @example
 * const { holds } = await verifyRange(reader, { from: reader.birth, to: reader.chain.head });
 */
export async function verifyRange(reader: EvidenceReader, options: RangeOptions): Promise<RangeAudit> {
  const { from, to, onPiece } = options;
  const { head } = reader.chain;
  if (to > head) throw new VerifyError(`--to-block ${to} is not mined yet: the newest block is ${head}`);
  const progress = options.progress ?? beginRange(from, await reader.ledgerAt(from - 1n));
  if (progress.from !== from || progress.next > to + 1n) {
    throw new VerifyError(
      `the stored progress is of blocks ${progress.from} to ${progress.next - 1n}: it is no part of ${from} to ${to}`,
    );
  }
  // Before anything else: a node that is no archive forgets the state of a block while the range is looked at.
  const closing = await reader.ledgerAt(to);
  for (let size = FIRST_PIECE; progress.next <= to; ) {
    const end = progress.next + BigInt(size) - 1n;
    const evidence = await reader.blocks(progress, end < to ? end : to);
    auditBlocks(progress, evidence);
    await onPiece?.(progress);
    const wanted = (size * EVENTS) / Math.max(evidence.events.length, 1);
    size = Math.max(1, Math.floor(Math.min(wanted, size * 4)));
  }
  const audit = concludeRange(progress, closing);
  if (audit.holds) return audit;
  // A node that was asked for its newest block while it mined the next one may have told the state of that.
  return concludeRange(progress, await reader.ledgerAt(to).catch(() => closing));
}

/**
 * Progress, and what is stored beside it, as JSON: whole numbers of any size are texts that end with `n`.
 *
 * @example
 * encodeProgress({ next: 5n }); // '{"next":"5n"}'
 */
export const encodeProgress = (stored: object): string =>
  JSON.stringify(stored, (_key, value) => (typeof value === "bigint" ? `${value}n` : value));

/**
 * Reads what {@link encodeProgress} wrote.
 *
 * @example
 * decodeProgress('{"next":"5n"}'); // { next: 5n }
 */
export const decodeProgress = (text: string): unknown =>
  JSON.parse(text, (_key, value) =>
    typeof value === "string" && /^-?\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
  );
