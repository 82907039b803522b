import { spawnSync } from "node:child_process";
import { StackError } from "./errors.ts";

/** The user PostgreSQL runs as when we are root, which it refuses to be. */
export type DatabaseUser = { name: string; uid: number; gid: number };

const PREFERRED = "postgres";
/** Exists on every system: for containers that have no command to add a user. */
const LAST_RESORT = "nobody";

/** Null when PostgreSQL can run as the current user. */
export function databaseUser(): DatabaseUser | null {
  if (process.getuid?.() !== 0) return null;
  return (
    find(PREFERRED) ??
    create() ??
    find(LAST_RESORT) ??
    fail(
      `PostgreSQL does not run as root, and there is no user to run it as. Create one with \`useradd --system ${PREFERRED}\`, or start as an ordinary user.`,
    )
  );
}

function find(name: string): DatabaseUser | null {
  const uid = idOf("-u", name);
  const gid = idOf("-g", name);
  return uid !== null && gid !== null && uid > 0 ? { name, uid, gid } : null;
}

function idOf(flag: string, name: string): number | null {
  const { status, stdout } = spawnSync("id", [flag, name], { encoding: "utf8" });
  return status === 0 ? Number(stdout) : null;
}

function create(): DatabaseUser | null {
  const { status } = spawnSync("useradd", ["--system", "--user-group", "--no-create-home", PREFERRED], {
    stdio: "ignore",
  });
  return status === 0 ? find(PREFERRED) : null;
}

function fail(message: string): never {
  throw new StackError(message);
}

/** Runs a shell test as that user; the shell is within everybody's reach, unlike Node in a closed home folder. */
function tests(user: DatabaseUser, script: string, ...args: string[]): boolean {
  const { status } = spawnSync("/bin/sh", ["-c", script, "sh", ...args], {
    uid: user.uid,
    gid: user.gid,
    cwd: "/",
    stdio: "ignore",
  });
  return status === 0;
}

export const canEnter = (user: DatabaseUser, folder: string): boolean => tests(user, 'cd "$1"', folder);
export const canRun = (user: DatabaseUser, file: string): boolean => tests(user, 'test -r "$1" && test -x "$1"', file);
