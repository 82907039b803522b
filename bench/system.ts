/** The systems that are measured: the whole stack in a throw-away folder, the model server before it, and a peer gateway beside it. */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { pino } from "pino";
import { type Hex, parseEther, toHex } from "viem";
import {
  createNonceManager,
  generatePrivateKey,
  type PrivateKeyAccount,
  privateKeyToAccount,
  privateKeyToAddress,
} from "viem/accounts";
import { jsonRpc } from "viem/nonce";
import { Keys } from "../api/account/keys.ts";
import { openDatabase } from "../api/db/pool.ts";
import { DEPLOYER_KEY } from "../scripts/deploy/config.ts";
import { rpc } from "../scripts/dev/chain.ts";
import { answersOk } from "../scripts/dev/parts.ts";
import { freePorts, type Ports } from "../scripts/dev/ports.ts";
import { removeDataDir } from "../scripts/dev/postgres.ts";
import { behindSequencer } from "../scripts/dev/sequencer.ts";
import { PARTS, type Stack, startStack } from "../scripts/dev/stack.ts";
import { provideCredits } from "../scripts/dev/wallets.ts";
import type { Target } from "./load.ts";

export const MODEL = "qwen3-8b";

/** A program of the benchmark that is not part of the system: where it listens, and its end. */
export type Peer = { url: string; pid: number; stop: () => void };

/** The model server, whose answers take so long. */
export async function startUpstream(delayMs = 0): Promise<Peer> {
  const child = fork(join(import.meta.dirname, "upstream.ts"), [String(delayMs)]);
  const [port] = await once(child, "message");
  return peer(child, `http://127.0.0.1:${port}`);
}

/** Portkey's gateway, the peer we compare with: it forwards, nothing more. Null where it is not installed. */
export async function startPortkey(): Promise<Peer | null> {
  let home: string;
  try {
    home = dirname(createRequire(import.meta.url).resolve("@portkey-ai/gateway/package.json"));
  } catch (error) {
    console.error(`The peer gateway is not installed, its columns stay empty: ${(error as Error).message}`);
    return null;
  }
  const { api: port } = await freePorts(0);
  const child = spawn(process.execPath, [join(home, "build/start-server.js"), `--port=${port}`, "--headless"], {
    stdio: "ignore",
    // Without it, it asks whether each request may reach its custom host.
    env: { ...process.env, NODE_ENV: "production", TRUSTED_CUSTOM_HOSTS: "127.0.0.1,localhost" },
  });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 100; tries++) {
    const answered = await fetch(url).catch(() => null);
    if (answered) return peer(child, url);
    await sleep(100);
  }
  child.kill();
  throw new Error("The peer gateway did not answer within 10 s.");
}

const peer = (child: ChildProcess, url: string): Peer => ({
  url,
  pid: child.pid as number,
  stop: () => void child.kill(),
});

type StackOptions = Parameters<typeof startStack>[0];

/** Starts parts of the local stack in a throw-away folder, which goes with them. */
export async function startParts(
  options: Pick<StackOptions, "parts" | "workers" | "env" | "blockTime" | "gatewayKeys"> & { ports?: Ports },
): Promise<{ stack: Stack; stop: () => Promise<void> }> {
  const dataDir = mkdtempSync(join(tmpdir(), "bench-"));
  // The database runs as another user when this runs as root.
  chmodSync(dataDir, 0o711);
  const ports = options.ports ?? (await freePorts(options.workers.length));
  const given = { ...options, dataDir, ports, baseEnv: process.env, write: () => {} };
  const stack = await startStack({ ...given, temporary: true }).ready;
  const stop = async (): Promise<void> => {
    await stack.stop();
    removeDataDir(dataDir);
  };
  return { stack, stop };
}

export type System = {
  stack: Stack;
  accounts: readonly Account[];
  /** All of the funded accounts take turns. */
  target: Target;
  /** Resident memory by part, MB. */
  memory: () => Record<string, number>;
  /** Processor time used so far by part, ms. */
  processor: () => Record<string, number>;
  stop: () => Promise<void>;
};

/** `profile`: folder for CPU profiles of gateway, workers and indexer, written when they stop. */
export type SystemOptions = {
  upstream: string;
  blockTime?: number;
  accounts: number;
  credits: number;
  profile?: string | undefined;
  /** Number of workers and the jobs that each takes; by default two workers that never keep a job waiting. */
  workers?: { count: number; concurrency: number; queue: number };
  /** Jobs begin on the promise of a sequencer (scripts/dev/sequencer.ts), which stands between chain and gateway. */
  preconfirmed?: boolean;
  /** Keys of more gateways, for `withGateway`. */
  gatewayKeys?: readonly Hex[];
};

const GATEWAY_SETTINGS = { BURST_PER_SECOND: "1000000", LOG_LEVEL: "warn", MASTER_KEY: "5a".repeat(32) };

/** Starts the whole system, its workers in front of the benchmark's upstream. */
export async function startSystem(options: SystemOptions): Promise<System> {
  const profile: Record<string, string> = options.profile
    ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${resolve(options.profile)}` }
    : {};
  const { count, concurrency, queue } = options.workers ?? { count: 2, concurrency: 512, queue: 1024 };
  const plain = {
    parts: PARTS,
    ports: await freePorts(count),
    workers: Array.from({ length: count }, () => ({ models: [MODEL] })),
    ...(options.blockTime === undefined ? {} : { blockTime: options.blockTime }),
    ...(options.gatewayKeys === undefined ? {} : { gatewayKeys: options.gatewayKeys }),
    env: {
      workers: {
        WORKER_BACKEND: `${options.upstream}/v1`,
        WORKER_CONCURRENCY: String(concurrency),
        WORKER_QUEUE: String(queue),
        WORKER_LOG_LEVEL: "warn",
        ...profile,
      },
      indexer: profile,
      api: { ...GATEWAY_SETTINGS, ...profile },
    },
  };
  const { options: given, sequencer } = options.preconfirmed
    ? await behindSequencer(plain, options.blockTime ?? 1)
    : { options: plain, sequencer: null };
  const { stack, stop: stopParts } = await startParts(given).catch(async (error) => {
    await sequencer?.close();
    throw error;
  });
  const stop = async (): Promise<void> => {
    await stopParts();
    await sequencer?.close();
  };
  let accounts: Account[];
  try {
    accounts = await openAccounts(stack, options.accounts, options.credits);
  } catch (error) {
    await stop();
    throw error;
  }
  let turn = 0;
  const headers = () => ({ authorization: `Bearer ${accounts[turn++ % accounts.length]?.apiKey}` });
  const ofParts = (of: (pid: number) => number) => () =>
    Object.fromEntries(stack.processes().map(({ name, pid }) => [name, of(pid)]));
  return {
    stack,
    accounts,
    target: { name: "this service", url: stack.info.base_url as string, model: MODEL, headers },
    memory: ofParts(residentMegabytes),
    processor: ofParts(processorMilliseconds),
    stop,
  };
}

/** Starts the system of another checkout, by that one's own programs. */
export async function startSystemOf(folder: string, options: SystemOptions): Promise<System> {
  // Until 2026-11-28 the benchmark stood in `scripts/`.
  const path = ["bench/system.ts", "scripts/bench/system.ts"].map((name) => resolve(folder, name)).find(existsSync);
  if (path === undefined) throw new Error(`${folder} is no checkout of this project: it has no bench/system.ts.`);
  const program = pathToFileURL(path).href;
  const other = (await import(program)) as { startSystem: typeof startSystem };
  return other.startSystem(options);
}

/** The same system with a gateway more, whose requests the two take in turns. `stop` ends that one. `key`: of `gatewayKeys`. */
export async function withGateway({ stack, ...system }: System, key: Hex): Promise<System> {
  const { api: port } = await freePorts(0);
  await rpc(stack.info.rpc_url, "anvil_setBalance", [privateKeyToAddress(key), toHex(parseEther("100"))]);
  const child = spawn(process.execPath, ["api/main.ts"], {
    stdio: "inherit",
    env: {
      ...process.env,
      API_PORT: String(port),
      DATABASE_URL: stack.info.database_url as string,
      RPC_URL: stack.info.rpc_url,
      DEPLOYMENT_FILE: stack.deploymentFile,
      GATEWAY_PRIVATE_KEY: key,
      ALLOW_LOCAL_ENDPOINTS: "true",
      WEBHOOK_CONFIRMATIONS: "0",
      OWN_WORKERS: stack.workers.map(({ privateKey }) => privateKeyToAddress(privateKey)).join(),
      ...GATEWAY_SETTINGS,
    },
  });
  const url = `http://127.0.0.1:${port}`;
  while (!(await answersOk(`${url}/readyz`))) {
    if (child.exitCode !== null) throw new Error(`The second gateway ended with code ${child.exitCode}.`);
    await sleep(100);
  }
  const urls = [system.target.url, url];
  let turn = 0;
  const target = {
    ...system.target,
    get url() {
      return urls[turn++ % urls.length] as string;
    },
  };
  const processes = () => [...stack.processes(), { name: "api", pid: child.pid as number, running: true }];
  const stop = async (): Promise<void> => {
    child.kill();
    await once(child, "exit");
  };
  return { ...system, target, stack: { ...stack, processes }, stop };
}

export type Account = { owner: PrivateKeyAccount; apiKey: string };

/** Opens `count` funded accounts, as many clients as a batch has jobs. */
async function openAccounts(stack: Stack, count: number, credits: number): Promise<Account[]> {
  // One of its own: the library's would go on counting where the chain of an earlier system ended.
  const nonceManager = createNonceManager({ source: jsonRpc() });
  const funder = privateKeyToAccount(DEPLOYER_KEY, { nonceManager });
  const pool = openDatabase(stack.info.database_url as string, pino({ level: "silent" }), 4);
  const keys = new Keys(pool);
  const open = async (): Promise<Account> => {
    const owner = privateKeyToAccount(generatePrivateKey());
    await provideCredits(stack.info, { funder, owner, credits });
    return { owner, apiKey: await keys.regenerate(owner.address) };
  };
  try {
    return await Promise.all(Array.from({ length: count }, open));
  } finally {
    await pool.end();
  }
}

/** Resident memory of one process; NaN where /proc does not tell. */
export function residentMegabytes(pid: number): number {
  try {
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024);
  } catch {
    // Other systems, or the process has ended: the table shows a dash.
    return Number.NaN;
  }
}

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

/** Processor time of a process and its children (a database has one for each connection), ended ones too, ms; NaN where /proc does not tell. */
export function processorMilliseconds(pid: number): number {
  try {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.reduce((sum, name) => sum + timeOf(name, pid), 0);
  } catch {
    // As above.
    return Number.NaN;
  }
}

/** Time of the process `name` if it is `pid` or its child. */
function timeOf(name: string, pid: number): number {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${name}/stat`, "utf8");
  } catch {
    // Ended since the folder was listed.
    return 0;
  }
  // After the name, which is in parentheses and may hold anything: state, parent, …, user and system time (12th, 13th), those of ended children.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const times = fields.slice(11, 15).map(Number) as [number, number, number, number];
  if (Number(name) === pid) return times.reduce((sum, ticks) => sum + ticks) * TICK_MS;
  return Number(fields[1]) === pid ? (times[0] + times[1]) * TICK_MS : 0;
}
