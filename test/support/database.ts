/** A database of a test file's own, on the PostgreSQL that its suite shares. */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { pino } from "pino";
import { migrate, openDatabase } from "../../api/db/pool.ts";
import { sharedStack } from "./shared-stack.ts";

type OwnDatabase = { url: string; pool: pg.Pool };

/** Creates a database with the gateway's tables, on the shared stack of this name. */
export async function ownDatabase(stack = "database"): Promise<OwnDatabase> {
  const { info } = await sharedStack(stack);
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  const admin = new pg.Client(info.database_url);
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  const url = new URL(info.database_url);
  url.pathname = `/${name}`;
  const logger = pino({ level: "silent" });
  await migrate(url.href, logger);
  const pool = openDatabase(url.href, logger, 3);
  // PostgreSQL may stop before a closing connection has said goodbye.
  pool.on("error", () => {});
  return { url: url.href, pool };
}
