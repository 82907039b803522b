import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { rpc } from "../../scripts/dev/chain.ts";
import { freePorts } from "../../scripts/dev/ports.ts";
import { Client, openStore } from "../support/client.ts";
import { NODE_PROFILES } from "../support/node-profiles.ts";
import { NodeProxy } from "../support/node-proxy.ts";
import { Receiver } from "../support/receiver.ts";
import { MASTER_KEY, SECOND_ADDRESS, SECOND_KEY, SecondGateway } from "../support/second-gateway.ts";
import { startTestStack, type TestStack, type TestStackOptions } from "../support/stack.ts";
import { Wire } from "../support/wire.ts";
import { keepLogs } from "./keep-logs.ts";
import { Miner } from "./miner.ts";

export const MODEL = "qwen3-8b";
export const CLIENTS = 4;
/** Seconds: blocks come from the miner. */
const NEVER = 36_000;
/** Short enough that a run sees timeouts; long enough that a healthy job never does. */
const WINDOWS = { completion: 25, inclusion: 15, finalization: 10, dispute: 10, arbitration: 30 };
/** Settings of both gateways. */
export const GATEWAY_ENV = {
  LOG_LEVEL: "warn",
  WEBHOOK_CONFIRMATIONS: "0",
  ACKNOWLEDGE_SECONDS: "5",
  FIRST_TOKEN_SECONDS: "8",
  LOCK_SECONDS: "10",
  REPLACE_AFTER_SECONDS: "3",
  BURST_PER_SECOND: "100000",
};
export const EVENTS = ["job.submitted", "job.completed", "job.failed", "job.timeout"] as const;

/** Two gateways behind one database and one chain, workers, webhook receivers, and the connections that faults bend. */
export type World = {
  stack: TestStack;
  second: SecondGateway;
  pool: pg.Pool;
  clients: Client[];
  receiver: Receiver;
  /** The first gateway's way to the chain and to the database. */
  chainWire: Wire;
  databaseWire: Wire;
  miner: Miner;
  /** Between all parts and the chain: the node as which it answers; null where the parts ask the chain itself. */
  node: NodeProxy | null;
  /** Resolves when parts that ended by themselves run again: a part is not killed while it is being started. */
  revived: () => Promise<void>;
  /** Base URLs of both gateways. */
  gateways: string[];
  rpc: <T>(method: string, params?: unknown[]) => Promise<T>;
  /** Process id of a part; it changes when the part is started anew. */
  pid: (part: string) => number;
  note: (line: string) => void;
  stop: () => Promise<void>;
};

/** What the load and the verdict need of a world. */
export type Judged = Pick<World, "pool" | "clients" | "receiver" | "gateways" | "rpc" | "note"> & {
  stack: Pick<TestStack, "info" | "kill" | "restart">;
};

export async function openWorld(options: {
  credits: number;
  /** Where everything that is logged is kept. */
  keep?: string;
  note: (line: string) => void;
  /** Whether all parts reach the chain through a node that can answer as another one. */
  nodes?: boolean;
  /** What differs from the stack of the fault suite. */
  stack?: TestStackOptions;
}): Promise<World> {
  const { databaseUrl, env: given, windows } = options.stack ?? {};
  const ports = { ...(await freePorts(3)), ...(databaseUrl ? { postgres: Number(new URL(databaseUrl).port) } : {}) };
  const node = options.nodes ? await NodeProxy.open(`http://127.0.0.1:${ports.chain}`, NODE_PROFILES.geth) : null;
  const asked: Record<string, string> = node === null ? {} : { RPC_URL: node.url, WS_URL: "" };
  const nodePort = node === null ? ports.chain : Number(new URL(node.url).port);
  const [chainWire, databaseWire] = [await Wire.open(nodePort), await Wire.open(ports.postgres)];
  const wired = (url: string, wire: Wire) => url.replace(/:\d+(?=\/|$)/, `:${wire.port}`);
  const miner = new Miner(`http://127.0.0.1:${ports.chain}`);
  const running: TestStack = await startTestStack({
    ports,
    ...(databaseUrl ? { databaseUrl } : { ownDatabase: true }),
    blockTime: NEVER,
    windows: { ...WINDOWS, ...windows },
    workers: [{ models: [MODEL] }, { models: [MODEL] }, { models: [MODEL] }],
    gatewayKeys: [SECOND_KEY],
    env: {
      api: {
        MASTER_KEY,
        RPC_URL: `http://127.0.0.1:${chainWire.port}`,
        ...GATEWAY_ENV,
      },
      indexer: asked,
      ...given,
      workers: { ...asked, WORKER_FIRST_TOKEN_MS: "50", WORKER_TOKENS_PER_SECOND: "300" },
    },
    // A process manager starts what has died again; here `revive` does.
    onDeath: (error, part) => revive(part, error),
  });
  const stopKeeping =
    options.keep === undefined ? () => {} : keepLogs(join(running.options.dataDir, "logs"), options.keep);
  const reviving = new Set<Promise<void>>();
  const revive = (part: string, error: Error): boolean => {
    options.note(`${part} ended by itself and is started again: ${error.message.split("\n")[0]}`);
    const again = async (tries: number): Promise<void> => {
      try {
        await running.restart(part);
      } catch (failure) {
        if (tries > 20) throw failure;
        await new Promise((resolve) => setTimeout(resolve, 500));
        await again(tries + 1);
      }
    };
    const revival = again(0)
      .catch((failure) => options.note(`${part} could not be started again: ${failure}`))
      .finally(() => reviving.delete(revival));
    reviving.add(revival);
    return true;
  };
  const second = new SecondGateway(running, {
    DATABASE_URL: wired(running.info.database_url, databaseWire),
    ...asked,
    ...GATEWAY_ENV,
  });
  await rpc(running.info.rpc_url, "anvil_setBalance", [SECOND_ADDRESS, "0x3635c9adc5dea00000"]);
  await second.start();
  const pool = openStore(running);
  const receiver = await Receiver.open();
  const clients: Client[] = [];
  for (let n = 0; n < CLIENTS; n++) {
    const client = await Client.create(running, pool, options.credits);
    await client.deposit(options.credits);
    await client.webhook(receiver.url(`/client-${n}`), [...EVENTS]);
    clients.push(client);
  }
  return {
    stack: running,
    second,
    pool,
    clients,
    receiver,
    chainWire,
    databaseWire,
    miner,
    node,
    revived: async () => void (await Promise.all(reviving)),
    gateways: [running.info.base_url, second.url],
    rpc: <T>(method: string, params: unknown[] = []) => rpc<T>(running.info.rpc_url, method, params),
    pid: (part) => running.processes().find(({ name }) => name === part)?.pid ?? Number.NaN,
    note: options.note,
    stop: async () => {
      receiver.close();
      await second.kill();
      if (options.keep !== undefined) writeFileSync(join(options.keep, "second-gateway.log"), second.output);
      await pool.end();
      await running.stop();
      stopKeeping();
      await running.remove();
      miner.stop();
      chainWire.close();
      databaseWire.close();
      node?.close();
    },
  };
}
