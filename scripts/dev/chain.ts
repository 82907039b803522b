/** The local chain: anvil on a kept state, what a kill did to that state, and the contracts on it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createPublicClient } from "viem";
import { DEV_CHAIN_ID, type Deployment, parseDeployment } from "../../protocol/deployment.ts";
import { nodeTransport } from "../../shared/node-transport.ts";
import { codeOf, readText } from "../../shared/process.ts";
import { otherChain, wrongCode } from "../deploy/read-back.ts";
import { messageOf, ROOT, StackError } from "./files.ts";
import { logFile, type PartSpec, type Parts, RANK } from "./parts.ts";
import type { Ports } from "./ports.ts";
import { outsideFolder, query } from "./postgres.ts";

/**
 * The time of block 0. anvil makes a new block 0 at every start and keeps it beside the one it loads: of one time, all of them are the
 * same block. Of the time of each start, block 1 would lose its parent, which an indexer takes for a reorganisation.
 */
export const GENESIS_TIME = 1_700_000_000;

/** The files in which the chain is kept. `mark` exists from the start of the node until it has ended in order. */
export function chainFiles(dataDir: string): { folder: string; state: string; cache: string; mark: string } {
  const folder = join(dataDir, "chain");
  mkdirSync(folder, { recursive: true });
  return {
    folder,
    state: join(folder, "state.json"),
    cache: join(folder, "cache"),
    mark: join(folder, "not-stopped-in-order"),
  };
}

/** One JSON-RPC call. The stack asks the chain a few plain questions; the parts bring their own clients. */
export async function rpc<T>(url: string, method: string, params: unknown[] = []): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal: AbortSignal.timeout(5_000),
  });
  const body = (await response.json()) as { result?: T; error?: { message: string } };
  if (body.error) throw new Error(`${method}: ${body.error.message}`);
  return body.result as T;
}

type ChainOptions = { ports: Ports; blockTime?: number; baseEnv: NodeJS.ProcessEnv; temporary?: boolean };

/** Starts anvil on the kept chain; returns what the progress line says. */
export async function startChain(parts: Parts, options: ChainOptions): Promise<string> {
  const { blockTime, baseEnv: env, temporary = false } = options;
  const port = options.ports.chain;
  const { file, version } = anvilBinary();
  const { state, cache, mark } = chainFiles(parts.dataDir);
  // Each dump writes the whole chain, 20 ms of processor time a megabyte: a long one is dumped less often.
  const interval = Math.min(120, Math.max(10, (statSync(state, { throwIfNoEntry: false })?.size ?? 0) / 1_000_000));
  const kept = ["--state", state, "--state-interval", String(Math.round(interval))];
  const url = `http://127.0.0.1:${port}`;
  const spec: PartSpec = {
    name: "chain",
    command: file,
    args: [
      ["--host", "127.0.0.1", "--port", String(port), "--chain-id", String(DEV_CHAIN_ID)],
      temporary ? (existsSync(state) ? ["--load-state", state] : []) : kept,
      ["--timestamp", String(GENESIS_TIME)],
      // By default anvil keeps 500 states in memory and thousands more on disk. Blocks, transactions, receipts and logs are kept in full
      // either way; only old *state* is dropped, and these many blocks remain for reorganisations.
      ["--prune-history", "32", "--cache-path", cache],
      // The log would name every call.
      ["--quiet"],
      blockTime === undefined ? [] : ["--block-time", String(blockTime)],
    ].flat(),
    env,
    ready: () => isReady(url),
    // It writes the last dump before it ends.
    stop: { rank: RANK.chain, signal: "SIGINT", seconds: 30, mark },
    hint: `start again: the chain resumes from its last dump. If it keeps dying, see ${logFile(parts.dataDir, "chain")}; to begin with an empty chain, delete ${parts.dataDir}.`,
  };
  // anvil leaves its cache behind when it is killed.
  rmSync(cache, { recursive: true, force: true });
  writeFileSync(mark, "");
  await parts.launch(spec);
  const block = Number(await rpc<string>(url, "eth_blockNumber"));
  // Deployments are marked by the hash of the block before them: block 0 is the same on every chain.
  if (block === 0) await rpc(url, "evm_mine");
  return `anvil ${version} on ${port}${block > 0 ? `, block ${block}` : ""}`;
}

async function isReady(url: string): Promise<boolean> {
  try {
    // Its clock began at the time of block 0.
    await rpc(url, "anvil_setTime", [Math.floor(Date.now() / 1_000)]);
    return true;
  } catch {
    // Not listening yet.
    return false;
  }
}

/** anvil itself: the package's `anvil` command is a wrapper whose death leaves the node on its port. */
export function anvilBinary(): { file: string; version: string } {
  const platform = `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
  const folder = join(ROOT, "node_modules", "@foundry-rs", `anvil-${platform}`);
  const file = join(folder, "bin", "anvil");
  if (!existsSync(file)) {
    throw new StackError(
      `There is no anvil for this machine (${platform}) in node_modules.\n` +
        "What to do: delete node_modules and start again; anvil exists for Linux and macOS, amd64 and arm64.",
    );
  }
  const { version } = createRequire(import.meta.url)(join(folder, "package.json")) as { version: string };
  return { file, version };
}

/** True if the chain was killed. A stop in order writes a whole dump; after a kill the newest dump has to be looked at. */
export const wasKilled = (dataDir: string): boolean => existsSync(chainFiles(dataDir).mark);

/** Why a dump cannot be used; null if it can. anvil goes on mining while it writes one, so a dump can also hold effects of blocks it lacks. */
export function faultOfDump(file: string): string | null {
  let text: string | null;
  try {
    text = readText(file);
  } catch (error) {
    return `its dump cannot be read (${messageOf(error)})`;
  }
  if (text === null) return "it was killed before its first dump";
  type Dump = {
    best_block_number: number;
    blocks: { header: { number: string } }[];
    transactions: { info: { from: string; nonce: number } }[];
    accounts: Record<string, { nonce: number; code: string }>;
  };
  let dump: Dump;
  try {
    dump = JSON.parse(text);
  } catch {
    return "its newest dump was cut short";
  }
  const height = dump.blocks.reduce((highest, { header }) => Math.max(highest, Number(header.number)), 0);
  if (dump.best_block_number !== height) return `the height of its newest dump is not that of its last block`;
  const sent = new Map<string, number>();
  for (const { info } of dump.transactions) {
    const from = info.from.toLowerCase();
    sent.set(from, Math.max(sent.get(from) ?? 0, info.nonce + 1));
  }
  const later = Object.entries(dump.accounts).find(
    // The nonce of a contract counts the contracts that it made.
    ([address, { nonce, code }]) => (code === "" || code === "0x") && nonce > (sent.get(address.toLowerCase()) ?? 0),
  );
  return later === undefined ? null : "the accounts of its newest dump are later than its blocks";
}

const KEPT = new Set(["logs", "starter.json"]);

/**
 * Puts aside everything that belongs to a chain: dump, deployment, database with Ponder's cache, workers' stores, keys. All of it or
 * nothing: a new chain repeats ids and addresses, and what was signed for the old one would be valid on it. Returns the folder.
 */
export function setAside(dataDir: string): string {
  const suffix = new Date().toISOString().slice(0, 19).replaceAll(":", "-");
  const folder = join(dataDir, `aside-${suffix}`);
  mkdirSync(folder);
  for (const name of readdirSync(dataDir)) {
    if (!KEPT.has(name) && !name.startsWith("aside-")) renameSync(join(dataDir, name), join(folder, name));
  }
  const outside = outsideFolder(dataDir);
  if (existsSync(outside)) renameSync(outside, `${outside}-${suffix}`);
  return folder;
}

/**
 * A chain that was killed forgets the blocks after its last dump; the database does not. Says which, before the parts start and
 * repair what they can. Null if nothing is lost.
 */
export async function lostBlocks(rpcUrl: string, databaseUrl: string): Promise<string | null> {
  const head = Number(await rpc<string>(rpcUrl, "eth_blockNumber"));
  const seen = await Promise.all(
    [
      "SELECT max(mined_block) FROM gateway.chain_transaction",
      `SELECT substr(latest_checkpoint, 27, 16) FROM "index"._ponder_checkpoint LIMIT 1`,
    ].map(async (sql) => {
      try {
        return Number(await query(databaseUrl, sql));
      } catch (error) {
        // Tables or schemas that are not there yet.
        if (codeOf(error) === "42P01" || codeOf(error) === "3F000") return 0;
        throw error;
      }
    }),
  );
  const newest = Math.max(...seen);
  if (newest <= head) return null;
  return (
    `it was killed and resumes from its last dump: blocks ${head + 1} to ${newest} are lost. The gateway sends its own transactions ` +
    "again and ends the jobs of that time; what wallets did in them (deposits, approvals, votes) has to be done again"
  );
}

export function readDeployment(file: string): Deployment | null {
  return existsSync(file) ? parseDeployment(readFileSync(file, "utf8"), file) : null;
}

/** True if the chain is the deployment's and has these contracts: a new chain gives the same contracts the same addresses. */
export async function isDeployed(rpcUrl: string, deployment: Deployment): Promise<boolean> {
  const client = createPublicClient({ transport: nodeTransport(rpcUrl) });
  if ((await otherChain(client, deployment)) !== null) return false;
  return (await wrongCode(client, deployment.contracts, false)).length === 0;
}
