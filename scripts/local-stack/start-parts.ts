import type { Deployment } from "../../protocol/deployment.ts";
import { startChain } from "./chain.ts";
import type { StackContext } from "./context.ts";
import { ensureDeployed } from "./contracts.ts";
import { type DemoAccount, ensureDemo } from "./demo.ts";
import { reportLostBlocks } from "./lost-blocks.ts";
import type { PartName } from "./options.ts";
import { RANK } from "./part.ts";
import { startPool } from "./pool.ts";
import { startPostgres } from "./postgres.ts";
import { apiSpec, indexerSpec, type WorkerEntry } from "./programs.ts";
import { awaitRouting } from "./routing.ts";
import type { Steps } from "./steps.ts";
import { buildWeb } from "./web.ts";

export type Started = { deployment: Deployment | null; demo: DemoAccount | null };

/** Starts the parts, each as soon as what it needs is there. */
export async function startParts(
  context: StackContext,
  steps: Steps,
  workers: readonly WorkerEntry[],
  giveUp: (error: unknown) => void,
): Promise<Started> {
  const has = (part: PartName): boolean => context.options.parts.includes(part);
  const { supervisor, ports } = context;

  /** A step of its own line, after the steps it waits for; nothing when the part is not wanted. */
  const step = async <T>(
    part: PartName,
    name: string,
    after: Promise<unknown>[],
    action: () => Promise<{ says: string; value: T }>,
  ): Promise<T | null> => {
    await Promise.all(after);
    return has(part) ? await steps.run(name, action) : null;
  };

  const chain = step("chain", "chain", [], async () => ({ says: await startChain(context), value: null }));
  const database = step("database", "database", [], async () => {
    const { says, url } = await startPostgres(context);
    context.databaseUrl = url;
    return { says, value: url };
  });
  const deployed = step("contracts", "contracts", [chain], () => ensureDeployed(context));
  // Before anything notes in the database what is on the chain now.
  const told = Promise.all([deployed, database]).then(([deployment, url]) =>
    deployment && url ? reportLostBlocks(context, deployment) : undefined,
  );
  const indexer = step("indexer", "indexer", [told], async () => {
    await supervisor.launch(indexerSpec(context));
    return { says: `Ponder on ${ports.indexer}`, value: null };
  });
  const pool = step("workers", "workers", [deployed], async () => ({
    says: await startPool(context, workers),
    value: null,
  }));
  // The API serves it; whoever starts the API gets it built.
  const web = step("api", "web", [], async () => ({
    says: await buildWeb((args) => runBuild(context, args)),
    value: null,
  }));
  const api = step("api", "api", [told, web], async () => {
    await supervisor.launch(apiSpec(context));
    return { says: `gateway on ${ports.api}`, value: null };
  });
  // After the pool: both are paid for by the same account, whose transactions must not overtake each other.
  const demo = step("demo", "demo", [api, pool], async () => {
    const value = await ensureDemo(context);
    return { says: `account ${value.wallet}`, value };
  });

  const routing = step("demo", "routing", [demo], async () => {
    const account = await demo;
    if (!has("workers") || !account) return { says: "no worker to wait for", value: null };
    return { says: await awaitRouting(context, workers, account.api_key), value: null };
  });

  const all = [chain, database, deployed, told, indexer, pool, web, api, demo, routing];
  try {
    await Promise.all(all);
  } catch (error) {
    // The first failure is the one to tell about; the others end before anything is cleaned up.
    giveUp(error);
    await Promise.allSettled(all);
    throw error;
  }
  return { deployment: await deployed, demo: await demo };
}

async function runBuild({ supervisor, options }: StackContext, args: string[]): Promise<void> {
  await supervisor.run({
    name: "web",
    command: process.execPath,
    args,
    env: options.baseEnv,
    stop: { rank: RANK.task, signal: "SIGTERM", deadlineMs: 3_000 },
    hint: "correct the source named above, or restore it (git status shows what differs from the clone).",
  });
}
