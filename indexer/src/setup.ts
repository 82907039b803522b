import { ponder } from "ponder:registry";
import pg from "pg";
import { createIndexes } from "../schema/indexes.ts";

// Runs once in the life of a schema, between the creation of its tables and the first event.
ponder.on("InferenceEscrow:setup", async () => {
  const { DATABASE_URL, INDEXER_SCHEMA } = process.env;
  if (INDEXER_SCHEMA === undefined) throw new Error("INDEXER_SCHEMA is not set: start with `node indexer/main.ts`");
  // A connection of our own: raw SQL through Ponder would cost it the in-memory mode in which it reads the past.
  const client = new pg.Client({ connectionString: DATABASE_URL });
  await client.connect();
  try {
    for (const statement of createIndexes(INDEXER_SCHEMA)) await client.query(statement);
  } finally {
    await client.end();
  }
});
