import pg from "pg";
import { startTestStack } from "../../support/stack.ts";

export type Postgres = { url: (database: string) => string; stop: () => Promise<void> };

/** A real PostgreSQL of the test's own: the local stack's, without the rest of it. */
export async function startPostgres(): Promise<Postgres> {
  const stack = await startTestStack({ parts: ["database"], workers: [], ownDatabase: true });
  const url = (database: string) => {
    const address = new URL(stack.info.database_url);
    address.pathname = `/${database}`;
    return address.href;
  };
  return { url, stop: () => stack.remove() };
}

/** One statement over a connection of its own. */
export async function onDatabase(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
