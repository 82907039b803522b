import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeJson } from "../../scripts/dev/files.ts";
import { freePort, freePorts } from "../../scripts/dev/ports.ts";
import { query } from "../../scripts/dev/postgres.ts";
import { startStack } from "../../scripts/dev/stack.ts";
import { DEBIAN_POSTGRES, PostgresServer } from "../support/postgres-server.ts";
import { plainEnv, temporaryDataDir } from "../support/stack.ts";
import { type Drill, startGateway } from "./drill.ts";

/** A gateway that is killed has given away what it had not recorded; its open locks end within their windows. */
const LOSSY_BEFORE_MS = 3_000;
const LOAD_MS = 6_000;

let server: PostgresServer;
let folder: string;

/** docs/operations/upkeep.md, "Back up and restore": from Debian's PostgreSQL to the newer one of the local stack. */
export const restore: Drill = {
  name: "restore",
  does: "backs PostgreSQL up under load, loses it, restores it into a newer server (root, Debian's postgresql)",
  mayFail: true,
  stack: async () => {
    if (!existsSync(DEBIAN_POSTGRES) || process.getuid?.() !== 0)
      throw new Error(`this drill needs root and ${DEBIAN_POSTGRES} (apt-get install postgresql)`);
    folder = temporaryDataDir();
    server = new PostgresServer({ folder: join(folder, "data"), host: "127.0.0.1", port: await freePort() });
    server.create();
    await server.start();
    await query(server.url.replace(/[^/]*$/, "postgres"), "CREATE DATABASE inference");
    return { databaseUrl: server.url };
  },
  practise: async (practice) => {
    const { world, gateways, problems, load } = practice;
    practice.ends.push(() => server.stop("SIGQUIT"));
    const dump = join(folder, "gateway.dump");
    const program = (name: string, ...args: string[]) =>
      execFileSync(join(DEBIAN_POSTGRES, name), args, { stdio: ["ignore", "ignore", "pipe"] });
    await practice.step("load", () => sleep(LOAD_MS));
    await practice.step("backup under load", async () =>
      program("pg_dump", "--format=custom", "--schema=gateway", `--file=${dump}`, server.url),
    );
    await practice.step("load that the backup does not have", () => sleep(LOAD_MS));
    const lost = Date.now();
    await practice.step("PostgreSQL is lost, the gateways are stopped", async () => {
      await world.stack.kill("indexer");
      await server.stop("SIGQUIT");
      server.remove();
      await Promise.all(gateways.map((gateway) => gateway.kill()));
    });
    await practice.step("restore into a newer server", async () => {
      const { port, password } = new URL(server.url);
      const dataDir = temporaryDataDir();
      const ports = { ...(await freePorts(0)), postgres: Number(port) };
      const secrets = { masterKey: "", demoPrivateKey: "0x", workerKeys: [], postgresPassword: password };
      writeJson(join(dataDir, "secrets.json"), secrets);
      const plain = { workers: [], env: {}, baseEnv: plainEnv(), write: practice.options.note };
      const newer = await startStack({ ...plain, dataDir, ports, parts: ["database"] }).ready;
      practice.ends.push(() => newer.stop());
      program("pg_restore", "--exit-on-error", "--no-owner", `--dbname=${server.url}`, dump);
    });
    await practice.step("the index is made anew", () => world.stack.restart("indexer"));
    for (const [n, gateway] of gateways.entries())
      await practice.step(`gateway ${n + 1} starts`, () => startGateway(gateway));
    practice.lossy.push({ from: lost - LOSSY_BEFORE_MS, until: Date.now() });
    const healed = Date.now() + 1_000;
    await practice.step("load on the newer server", () => sleep(2 * LOAD_MS));
    const late = load.requests.filter(({ at, outcome }) => at > healed && outcome !== "answered");
    if (late.length > 0) problems.push(`${late.length} requests failed after the restore`);
  },
};
