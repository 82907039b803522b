import { erc20Abi, formatEther } from "viem";
import type { Health } from "../../protocol/worker-health.ts";
import { connectChain } from "../chain/connect.ts";
import { countStored, type Stored } from "../completions/count.ts";
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
  const running = await runningWorker(config, address);
  const unsettled = running === null ? await countStored(config.dataDir) : ofRunning(running.health);
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
    /** Answers whose jobs the chain has not shown to be over for long enough; null: not known now. */
    unsettled: unsettled.count,
    /** Why it is not known; null: it is. */
    unsettled_unknown: unsettled.unknown,
    process: running,
  };
}

function ofRunning(health: Health | null): Stored {
  if (health !== null) return { count: health.unsettled, unknown: null };
  return {
    count: null,
    unknown: "the worker does not answer (is it starting? If it listens at another port, add --port)",
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
    ["unsettled", describeUnsettled(status)],
  ];
  return rows.map(([name, value]) => `${name.padEnd(10)} ${value}`).join("\n");
}

function describe({ status, in_flight, capacity, queued }: Health): string {
  return `${status}, ${in_flight} of ${capacity} jobs, ${queued} waiting`;
}

function describeUnsettled({ unsettled, unsettled_unknown, process: running }: Status): string {
  if (unsettled === null) return `not known: ${unsettled_unknown}`;
  const wait = unsettled === 1 ? "1 answer waits" : `${unsettled} answers wait`;
  return unsettled > 0 && running === null
    ? `${wait} for settlement, and nobody looks after the pay: start the worker`
    : `${wait} for settlement`;
}
