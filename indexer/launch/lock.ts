import pg from "pg";

// First of the two numbers of our advisory locks: keeps them apart from other users of the database.
const LOCK_CLASS = 0x1d8;

/** The launcher's one connection. It holds the lock on the schema as long as this process lives, and not a moment longer. */
export async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: "indexer_launcher",
    keepAlive: true,
  });
  await client.connect();
  return client;
}

/**
 * Takes the lock on a schema if no living indexer has it. PostgreSQL drops it with the connection, so a killed indexer
 * never leaves it behind: unlike the lock row in Ponder's own table, which a successor waits 25 s for.
 */
export async function tryLock(client: pg.Client, schema: string): Promise<boolean> {
  const { rows } = await client.query("SELECT pg_try_advisory_lock($1, hashtext($2)) AS locked", [LOCK_CLASS, schema]);
  return rows[0].locked === true;
}

export async function unlock(client: pg.Client, schema: string): Promise<void> {
  await client.query("SELECT pg_advisory_unlock($1, hashtext($2))", [LOCK_CLASS, schema]);
}

/** Waits for the lock. A second indexer of one build stands by like this and takes over when the first one ends. */
export async function lock(client: pg.Client, schema: string, log: (line: string) => void): Promise<void> {
  for (let waited = 0; !(await tryLock(client, schema)); waited += 1) {
    if (waited % 300 === 0) log(`another indexer fills schema ${schema}; this one stands by until it ends`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
