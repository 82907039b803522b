import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { pino } from "pino";
import { Cipher } from "../../../api/store/cipher.ts";
import { openDatabase } from "../../../api/store/database.ts";
import type { EventName } from "../../../api/webhooks/event-schemas.ts";
import { createWebhook } from "../../../api/webhooks/index.ts";
import { freePorts } from "../../local-stack/ports.ts";
import { removeDataDir } from "../../local-stack/postgres-home.ts";
import { type Stack, startStack } from "../../local-stack/stack.ts";
import { residentMegabytes } from "../processes.ts";

const MASTER_KEY = "b3".repeat(32);

export type BenchGateway = {
  stack: Stack;
  pool: pg.Pool;
  /** Creates a webhook of a wallet; returns its id. */
  webhook: (wallet: string, url: string, events: EventName[]) => Promise<string>;
  /** Blocks whose events are not derived. */
  lag: () => Promise<number>;
  /** Resident memory of the gateway. */
  memory: () => number;
  stop: () => Promise<void>;
};

/** Chain, database, index and one gateway in a throw-away folder, with the gateway's usual settings for webhooks. */
export async function startGateway(): Promise<BenchGateway> {
  const dataDir = mkdtempSync(join(tmpdir(), "bench-webhooks-"));
  // The database runs as another user when this runs as root.
  chmodSync(dataDir, 0o711);
  const stack = await startStack({
    dataDir,
    ports: await freePorts(0),
    parts: ["chain", "database", "contracts", "indexer", "api"],
    chainId: 31_337,
    workers: [],
    env: { api: { MASTER_KEY, LOG_LEVEL: "error" } },
    baseEnv: process.env,
    write: () => {},
  }).ready;
  const logger = pino({ level: "silent" });
  const pool = openDatabase(stack.info.database_url as string, logger, 4);
  pool.on("error", () => {}); // it stops before the pool does
  const context = {
    pool,
    cipher: new Cipher(MASTER_KEY, "webhook secrets"),
    policy: { allowLocal: true },
    head: { block: { number: 0, timestamp: 0 }, refresh: async () => ({ number: 0, timestamp: 0 }) },
    logger,
    wake: () => {},
  };
  return {
    stack,
    pool,
    webhook: async (wallet, url, events) => (await createWebhook(context, wallet, { url, events })).id,
    lag: async () => {
      const text = await (await fetch(`${stack.info.base_url}/metrics`)).text();
      return Number(/^gateway_webhook_lag_blocks (\S+)$/m.exec(text)?.[1]);
    },
    memory: () => residentMegabytes(stack.processes().find(({ name }) => name === "api")?.pid ?? 0),
    stop: async () => {
      await pool.end();
      await stack.stop();
      removeDataDir(dataDir);
    },
  };
}
