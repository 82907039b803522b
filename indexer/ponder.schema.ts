/**
 * Tables of the index. Keys are values as the events carry them (job ids as bytes16, not `job_…`): only then can Ponder
 * predict which rows a block needs and read them in one query. Credits and tokens are 32- or 40-bit numbers, times Unix
 * seconds, `position` = block × 1e6 + log index.
 *
 * Few tables on purpose: each costs every block one more query (Ponder's reorganisation log).
 */
export * from "./schema/catalog.ts";
export * from "./schema/disputes.ts";
export * from "./schema/events.ts";
export * from "./schema/jobs.ts";
export * from "./schema/ledger.ts";
export * from "./schema/operation.ts";
