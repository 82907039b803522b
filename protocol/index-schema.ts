/**
 * Names in PostgreSQL that the indexer writes and the gateway reads.
 *
 * Each build of the indexer fills a schema of its own (`index_<deployment>_<build>`); the views in INDEX_SCHEMA always show
 * the one that is complete. Readers know only the views, so a rebuilt index replaces the old one without a pause.
 */
export const INDEX_SCHEMA = "index";
/** All schemas of builds start with this. */
export const INDEX_BUILD_PREFIX = "index_";
/** Ponder notifies this channel after each block; a wake-up only, never a message. */
export const INDEX_CHANNEL = "index_live_query";
/** Log positions a block can hold: position = block number × this + log index. */
export const POSITIONS_PER_BLOCK = 1_000_000;

/**
 * Kinds of events that can change a wallet's credits, spendable and escrowed ones together, each with the field that says by how much. All of them
 * carry `total_before` and `total_after`, as the chain had them.
 */
export const BALANCE_EVENTS = {
  "account.deposited": "credits",
  "account.withdrawn": "credits",
  "job.settled": "credits_charged",
  "job.compensated": "credits_compensated",
  "job.operator_charged": "credits_compensated",
  "job.dispute_resolved": "bond_forfeited",
} as const;

/** A condition in SQL: the row of `protocol_event` is of one of these kinds. An index has the same words, so that it serves the readers. */
export const CHANGES_BALANCE = `kind IN (${Object.keys(BALANCE_EVENTS)
  .map((kind) => `'${kind}'`)
  .join(", ")})`;

/** Chain position of an event: sorts as the chain does. Exact up to block 9 × 10⁹. */
export function chainPosition(blockNumber: bigint | number, logIndex: number): number {
  return Number(blockNumber) * POSITIONS_PER_BLOCK + logIndex;
}
