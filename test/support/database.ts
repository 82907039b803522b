import type pg from "pg";
import { pino } from "pino";
import { migrate, openDatabase } from "../../api/db/pool.ts";
import { sharedDatabase } from "./shared.ts";

type OwnDatabase = { url: string; pool: pg.Pool };

/** A new database with the gateway's tables, on the server of the run. */
export async function ownDatabase(): Promise<OwnDatabase> {
  const url = await sharedDatabase();
  const logger = pino({ level: "silent" });
  await migrate(url, logger);
  const pool = openDatabase(url, logger, 3);
  // PostgreSQL may stop before a closing connection has said goodbye.
  pool.on("error", () => {});
  return { url, pool };
}
