import pg from "pg";
import { CHANGES_BALANCE } from "../../protocol/index-schema.ts";
import { ponder } from "../registry.ts";

/**
 * Indexes, beside the primary keys. They are not declared with the tables, because Ponder drops declared indexes at each
 * start and builds them again when it has caught up: 12 s with 500,000 jobs, in which every list is a scan.
 */
const INDEXES: readonly { table: string; columns: readonly string[]; where?: string }[] = [
  // The planner walks these backwards for "newest first": one range of one index a list, whatever the filters.
  { table: "job", columns: ["wallet", "id"] },
  { table: "job", columns: ["wallet", "status", "id"] },
  { table: "job", columns: ["wallet", "model", "id"] },
  { table: "job", columns: ["wallet", "status", "model", "id"] },
  { table: "job", columns: ["wallet", "created_at"] },
  // Jobs that hold credits for too long, by the time of their lock.
  { table: "job", columns: ["operator", "status", "created_at"] },
  // The explorer's: jobs of a worker, and jobs with an answer. A job enters them when it has one.
  { table: "job", columns: ["worker", "id"], where: "worker IS NOT NULL" },
  { table: "job", columns: ["proof_hash", "id"], where: "proof_hash IS NOT NULL" },
  // The history of accounts, workers, operators and models, without their jobs.
  { table: "protocol_event", columns: ["subject", "position"], where: "job_id IS NULL" },
  // A range of blocks is a range of positions.
  { table: "protocol_event", columns: ["position"] },
  { table: "protocol_event", columns: ["job_id"] },
  // A month of a wallet's statement. Of a job's events only its charge has an entry, and what a dispute brings.
  { table: "protocol_event", columns: ["wallet", "block_time"], where: CHANGES_BALANCE },
  { table: "dispute", columns: ["position"] },
  { table: "dispute", columns: ["ruling", "position"] },
  { table: "dispute", columns: ["wallet", "position"] },
  { table: "slash", columns: ["worker", "position"] },
  { table: "hosting", columns: ["model"] },
  { table: "payout", columns: ["payee", "position"] },
  { table: "batch_item_failure", columns: ["position"] },
];

/**
 * Ids are compared by bytes. The primary key has another collation, so the planner cannot walk it for a list, past the jobs of everybody else.
 */
const byBytes = (column: string): string => (column === "id" ? 'id COLLATE "C"' : column);

// Runs once in the life of a schema, between the creation of its tables and the first event.
ponder.on("InferenceEscrow:setup", async () => {
  const { DATABASE_URL, INDEXER_SCHEMA } = process.env;
  if (INDEXER_SCHEMA === undefined) throw new Error("INDEXER_SCHEMA is not set: start with `node indexer/main.ts`");
  // A connection of our own: raw SQL through Ponder would cost it the in-memory mode in which it reads the past.
  const client = new pg.Client({ connectionString: DATABASE_URL });
  await client.connect();
  try {
    for (const { table, columns, where = "true" } of INDEXES) {
      const name = [table, "by", ...columns].join("_");
      await client.query(
        `CREATE INDEX IF NOT EXISTS ${name} ON "${INDEXER_SCHEMA}".${table} (${columns.map(byBytes).join(", ")}) WHERE ${where}`,
      );
    }
  } finally {
    await client.end();
  }
});
