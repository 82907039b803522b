import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { erc20Abi, formatEther } from "viem";
import { connectChain } from "../chain/connect.ts";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../errors.ts";
import { workerAddress } from "../keys/worker-key.ts";
import { createLogger } from "../log.ts";
import { readRegistration, svc } from "../registration/state.ts";
import { runningWorker } from "./running.ts";

/** What there is to say about a worker, from the chain and from this machine; needs no passphrase. */
export async function readStatus(config: Config) {
  const address = workerAddress(config);
  if (address === null) {
    throw new ConfigError(`there is no worker in ${config.dataDir} yet: the first \`npm run worker\` makes one`);
  }
  const chain = await connectChain(config.rpcUrl, config.deploymentFile, createLogger("silent"), 3_000);
  const state = await readRegistration(chain, address, address);
  const { worker, minimumStake, catalog } = state;
  const payout = worker?.payout ?? address;
  const token = { address: chain.deployment.contracts.Stablecoin, abi: erc20Abi } as const;
  const held = await chain.client.readContract({ ...token, functionName: "balanceOf", args: [payout] });
  const names = new Map([...catalog].map(([id, number]) => [number, id]));
  return {
    address,
    registered: worker !== null,
    active: worker?.active ?? false,
    owner: worker?.owner ?? null,
    endpoint: worker?.endpoint ?? null,
    models: (worker?.models ?? []).map((number) => names.get(number) ?? `model ${number}`),
    stake: worker === null ? null : svc(worker.stake),
    minimum_stake: svc(minimumStake),
    unbonds_at: worker === null || worker.unbondsAt === 0 ? null : new Date(worker.unbondsAt * 1000).toISOString(),
    payout,
    payout_balance_usdg: Number(held) / 1e6,
    gas: formatEther(state.owner.gas),
    unsettled: await unsettled(config.dataDir),
    process: await runningWorker(config),
  };
}

type Status = Awaited<ReturnType<typeof readStatus>>;

/** The same for people. */
export function formatStatus(status: Status): string {
  const standing = !status.registered
    ? "not registered: no job can come"
    : status.unbonds_at !== null
      ? `unbonding, stake free from ${status.unbonds_at}`
      : status.active
        ? "active"
        : "inactive: the stake is below the minimum";
  const { process: running } = status;
  const here =
    running === null
      ? "not running"
      : `process ${running.pid}, ${running.health === null ? "does not answer" : describe(running.health)}`;
  const rows: [string, string][] = [
    ["worker", status.address],
    ["on chain", standing],
    ["endpoint", status.endpoint ?? "-"],
    ["models", status.models.join(", ") || "-"],
    ["stake", `${status.stake ?? "none"} (minimum ${status.minimum_stake})`],
    ["owner", status.owner ?? "-"],
    ["payout", `${status.payout}, holds ${status.payout_balance_usdg} USDG`],
    ["gas", `${status.gas} (needed only when a gateway falls silent)`],
    ["here", here],
    ["unsettled", `${status.unsettled} answers wait for their settlement`],
  ];
  return rows.map(([name, value]) => `${name.padEnd(10)} ${value}`).join("\n");
}

function describe(health: Record<string, unknown>): string {
  return `${health["status"]}, ${health["in_flight"]} of ${health["capacity"]} jobs, ${health["queued"]} waiting`;
}

/** Completions on the disk; none before the first start. */
async function unsettled(dataDir: string): Promise<number> {
  try {
    return (await readdir(join(dataDir, "completions"))).length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}
