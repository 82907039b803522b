import { join } from "node:path";
import pg from "pg";
import type { StackContext } from "./context.ts";
import { codeOf, messageOf, StackError } from "./errors.ts";
import { type PartSpec, RANK } from "./part.ts";
import { databaseHome } from "./postgres-home.ts";
import { DATABASE, ensureCluster, SUPERUSER } from "./postgres-init.ts";
import { clearPostmaster } from "./postgres-leftover.ts";
import { databaseUser } from "./postgres-user.ts";

/** Starts the database, or finds the one that DATABASE_URL names. */
export async function startPostgres(context: StackContext): Promise<{ says: string; url: string }> {
  if (context.options.databaseUrl) return await connectGiven(context.options.databaseUrl);

  const { ports, secrets, supervisor, options } = context;
  const report = (line: string): void => context.report("database", line);
  const home = await databaseHome(context.dataDir, databaseUser(), report);
  const data = await ensureCluster(context, home);
  await clearPostmaster(data, report);

  const url = (database: string): string =>
    `postgresql://${SUPERUSER}:${secrets.postgresPassword}@127.0.0.1:${ports.postgres}/${database}`;
  const spec: PartSpec = {
    name: "postgres",
    command: join(home.bin, "postgres"),
    args: [
      "-D",
      data,
      ...settings({
        port: ports.postgres,
        listen_addresses: "127.0.0.1",
        unix_socket_directories: "",
        max_connections: 200,
      }),
    ],
    env: { ...options.baseEnv, LC_ALL: "C" },
    cwd: home.folder,
    ...(home.user ? { user: { uid: home.user.uid, gid: home.user.gid } } : {}),
    ready: () => accepts(url("postgres"), context.dataDir),
    readyTimeoutMs: 60_000,
    // A session of a killed server holds the shared memory until it notices that its server is gone.
    passing: { says: /pre-existing shared memory block .* is still in use/, forMs: 60_000 },
    // A fast shutdown: sessions are cut, everything committed is kept.
    stop: { rank: RANK.postgres, signal: "SIGINT", deadlineMs: 20_000 },
    hint: `check the lines above (a full disk, a damaged folder). The database is in ${home.folder}; DATABASE_URL names another one.`,
  };
  await supervisor.launch(spec);
  const version = await ensureDatabase(url("postgres"));
  const where = home.folder.startsWith(context.dataDir) ? "" : `, in ${home.folder}`;
  return { says: `PostgreSQL ${version} on ${ports.postgres}${where}`, url: url(DATABASE) };
}

const settings = (values: Record<string, string | number>): string[] =>
  Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);

async function connectGiven(url: string): Promise<{ says: string; url: string }> {
  try {
    const version = await query(url, "SHOW server_version");
    return { says: `PostgreSQL ${version}, from DATABASE_URL`, url };
  } catch (error) {
    throw new StackError(
      `The database that DATABASE_URL names does not answer: ${messageOf(error)}.\nWhat to do: start it or correct the URL; without DATABASE_URL a local one is used.`,
    );
  }
}

async function accepts(url: string, dataDir: string): Promise<boolean> {
  try {
    await query(url, "SELECT 1");
    return true;
  } catch (error) {
    if (codeOf(error) === "28P01") {
      throw new StackError(
        `The database in ${dataDir} does not accept the password in ${join(dataDir, "secrets.json")}.\n` +
          "What to do: restore that file, or delete the data folder to begin anew (balances, keys and jobs are then gone).",
      );
    }
    // Not listening yet, or still recovering.
    return false;
  }
}

async function ensureDatabase(url: string): Promise<string> {
  try {
    await query(url, `CREATE DATABASE ${DATABASE}`);
  } catch (error) {
    // 42P04: it is there.
    if (codeOf(error) !== "42P04") throw error;
  }
  return await query(url, "SHOW server_version");
}

/** First value of the first row, over a connection of its own. */
async function query(connectionString: string, sql: string): Promise<string> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return String(Object.values(rows[0] ?? {})[0] ?? "");
  } finally {
    await client.end();
  }
}
