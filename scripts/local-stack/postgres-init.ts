import { chownSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StackContext } from "./context.ts";
import { RANK } from "./part.ts";
import type { DatabaseHome } from "./postgres-home.ts";

export const DATABASE = "inference";
export const SUPERUSER = "postgres";

/** Creates the database cluster unless it is there. Made aside and renamed, so that a kill never leaves half of one. */
export async function ensureCluster(
  { supervisor, secrets, options }: StackContext,
  home: DatabaseHome,
): Promise<string> {
  const data = join(home.folder, "data");
  if (existsSync(join(data, "PG_VERSION"))) return data;
  const temporary = join(home.folder, "data.new");
  const passwordFile = join(home.folder, "password");
  rmSync(temporary, { recursive: true, force: true });
  writeFileSync(passwordFile, `${secrets.postgresPassword}\n`, { mode: 0o600 });
  if (home.user) chownSync(passwordFile, home.user.uid, home.user.gid);
  try {
    await supervisor.run({
      name: "initdb",
      command: join(home.bin, "initdb"),
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
      env: { ...options.baseEnv, LC_ALL: "C" },
      cwd: home.folder,
      ...(home.user ? { user: { uid: home.user.uid, gid: home.user.gid } } : {}),
      stop: { rank: RANK.task, signal: "SIGTERM", deadlineMs: 5_000 },
      hint: "check the lines above (disk space, permissions), or name a database of your own with DATABASE_URL.",
    });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  rmSync(data, { recursive: true, force: true });
  renameSync(temporary, data);
  return data;
}
