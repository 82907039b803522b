import { spawn } from "node:child_process";
import { chownSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StackError } from "./errors.ts";
import type { DatabaseHome } from "./postgres-home.ts";

export const DATABASE = "inference";
export const SUPERUSER = "postgres";

/** Creates the database cluster unless it is there. Made aside and renamed, so that a kill never leaves half of one. */
export async function ensureCluster(home: DatabaseHome, password: string, env: NodeJS.ProcessEnv): Promise<string> {
  const data = join(home.folder, "data");
  if (existsSync(join(data, "PG_VERSION"))) return data;
  const temporary = join(home.folder, "data.new");
  const passwordFile = join(home.folder, "password");
  rmSync(temporary, { recursive: true, force: true });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (home.user) chownSync(passwordFile, home.user.uid, home.user.gid);
  try {
    await initdb(home, env, [
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
    ]);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  rmSync(data, { recursive: true, force: true });
  renameSync(temporary, data);
  return data;
}

function initdb(home: DatabaseHome, env: NodeJS.ProcessEnv, args: string[]): Promise<void> {
  const program = join(home.bin, "initdb");
  const ids = home.user ? { uid: home.user.uid, gid: home.user.gid } : {};
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...ids,
      env: { ...env, LC_ALL: "C" },
      cwd: home.folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const collect = (chunk: Buffer): void => {
      output += chunk.toString("utf8");
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.once("error", (error) => reject(new StackError(`${program} could not be started: ${error.message}`)));
    child.once("close", (code, by) => {
      if (code === 0) return resolve();
      reject(
        new StackError(
          `PostgreSQL could not create its folder in ${home.folder} (${by ?? `exit code ${code}`}):\n${output.trim().split("\n").slice(-8).join("\n")}\n` +
            "What to do: check the message (disk space, permissions), or name a database of your own with DATABASE_URL.",
        ),
      );
    });
  });
}
