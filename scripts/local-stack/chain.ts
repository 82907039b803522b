import { rmSync, statSync } from "node:fs";
import { anvilBinary } from "./chain-binary.ts";
import { avoidTornState, chainFiles, chooseState, discardState, keepCopies } from "./chain-state.ts";
import { tidyState } from "./chain-tidy.ts";
import type { StackContext } from "./context.ts";
import { StackError } from "./errors.ts";
import { logFile } from "./logs.ts";
import { type PartSpec, RANK } from "./part.ts";
import { rpc } from "./rpc.ts";

/** Seconds between dumps: 10, and more for a long chain, as each dump writes the whole of it again. */
function dumpInterval(bytes: number): number {
  return Math.min(120, Math.max(10, Math.round(bytes / 10_000_000)));
}

/** Starts anvil on the kept chain; returns what the progress line says. */
export async function startChain(context: StackContext): Promise<string> {
  const { dataDir, report } = context;
  const version = anvilBinary().version;
  try {
    await context.supervisor.launch(chainSpec(context));
  } catch (error) {
    const refused =
      error instanceof StackError && /--state <PATH>|parse json/i.test(error.message) ? discardState(dataDir) : null;
    if (refused === null || context.abort.aborted) throw error;
    report("chain", refused);
    await context.supervisor.launch(chainSpec(context));
  }
  const interval = stateInterval(dataDir);
  context.onStop(keepCopies(dataDir, (interval * 1000) / 2, (line) => report("chain", line)));
  const block = Number(await rpc<string>(context.urls.rpc, "eth_blockNumber"));
  // Deployments are marked by the hash of the block before them, which should not be block 0: see tidyState.
  if (block === 0) await rpc(context.urls.rpc, "evm_mine");
  return `anvil ${version} on ${context.ports.chain}${block > 0 ? `, block ${block}` : ""}`;
}

const stateInterval = (dataDir: string): number =>
  dumpInterval(statSync(chainFiles(dataDir).state, { throwIfNoEntry: false })?.size ?? 0);

async function answers(url: string): Promise<boolean> {
  try {
    return (await rpc<string>(url, "eth_chainId")) !== "";
  } catch {
    // Not listening yet.
    return false;
  }
}

function chainSpec({ dataDir, ports, options, urls, report }: StackContext): PartSpec {
  const files = chainFiles(dataDir);
  const args = [
    ["--host", "127.0.0.1", "--port", String(ports.chain), "--chain-id", String(options.chainId)],
    ["--state", files.state, "--state-interval", String(stateInterval(dataDir))],
    // By default anvil keeps 500 states in memory and thousands more on disk (0.4 MB a block were seen), outside the
    // data folder. Blocks, transactions, receipts and logs are kept in full either way; only old *state* is dropped,
    // and these many blocks remain for reorganisations.
    ["--prune-history", "32", "--cache-path", files.cache],
    // The log would name every call.
    ["--quiet"],
    options.blockTime === undefined ? [] : ["--block-time", String(options.blockTime)],
  ].flat();
  return {
    name: "chain",
    command: anvilBinary().file,
    args,
    env: options.baseEnv,
    before: () => {
      // anvil leaves its cache behind when it is killed.
      rmSync(files.cache, { recursive: true, force: true });
      for (const notice of [chooseState(dataDir), avoidTornState(dataDir)]) if (notice) report("chain", notice);
      tidyState(files.state);
    },
    ready: () => answers(urls.rpc),
    readyTimeoutMs: 60_000,
    // It writes the last dump before it ends.
    stop: { rank: RANK.chain, signal: "SIGINT", deadlineMs: 30_000 },
    hint: `start again: the chain resumes from its last dump. If it keeps dying, see ${logFile(dataDir, "chain")}; to begin with an empty chain, delete ${files.folder}.`,
  };
}
