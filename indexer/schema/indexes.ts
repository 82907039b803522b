/**
 * Indexes, beside the primary keys. They are not declared with the tables, because Ponder drops declared indexes at each
 * start and builds them again when it has caught up: 12 s with 500,000 jobs, in which every list is a scan.
 */
const INDEXES: readonly { table: string; columns: readonly string[] }[] = [
  // The planner walks these backwards for "newest first": one range of one index a list, whatever the filters.
  { table: "job", columns: ["wallet", "position"] },
  { table: "job", columns: ["wallet", "status", "position"] },
  { table: "job", columns: ["wallet", "model", "position"] },
  { table: "job", columns: ["wallet", "status", "model", "position"] },
  // A range of blocks is a range of positions, so this one serves both.
  { table: "protocol_event", columns: ["position"] },
  { table: "protocol_event", columns: ["wallet", "position"] },
  { table: "protocol_event", columns: ["job_id"] },
  { table: "dispute", columns: ["position"] },
  { table: "dispute", columns: ["ruling", "position"] },
  { table: "slash", columns: ["worker", "position"] },
  { table: "hosting", columns: ["model"] },
  { table: "payout", columns: ["payee", "position"] },
  { table: "batch_item_failure", columns: ["position"] },
];

/** Statements that create them in a schema; running them again does nothing. */
export function createIndexes(schema: string): string[] {
  return INDEXES.map(({ table, columns }) => {
    const name = [table, "by", ...columns].join("_");
    return `CREATE INDEX IF NOT EXISTS ${name} ON "${schema}".${table} (${columns.join(", ")})`;
  });
}
