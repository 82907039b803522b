/** The commands about a worker that is there already: status, drain, unbond, withdraw. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Address, encodeFunctionData, erc20Abi, formatEther, type Hex, isAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type Health, healthSchema } from "../../protocol/dispatch.ts";
import { workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { type Identity, isAlive, readText, signal, tryLock, waitGone } from "../../shared/process.ts";
import { connectChain } from "../chain.ts";
import type { CommandFlags, Config } from "../config.ts";
import { COMMAND, ConfigError, type Terminal } from "../console.ts";
import { openWorkerKey, workerAddress } from "../keys.ts";
import { ensureFunds, type RegisteredWorker, readRegistration, requireOwner, sendSteps, svc } from "../registration.ts";
import { countStored, type Stored } from "../store.ts";

const lockFile = (dataDir: string): string => join(dataDir, "worker.pid");

/** Makes this process the one worker of its data folder; returns how to give that up. Throws a ConfigError naming the other one. */
export function claimDataDir(dataDir: string): () => void {
  // Key, answers and settings are nobody else's business.
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = tryLock(lockFile(dataDir));
  if ("release" in lock) return lock.release;
  throw new ConfigError(
    `process ${lock.holder.pid} is the worker of ${dataDir} already: stop it with \`${COMMAND} drain\`, or choose another --data-dir`,
  );
}

function holderOf(dataDir: string): Identity | null {
  const text = readText(lockFile(dataDir));
  if (text === null) return null;
  try {
    const holder = JSON.parse(text) as Identity | null;
    return holder !== null && isAlive(holder) ? holder : null;
  } catch {
    // Cut short by a crash: nobody holds it.
    return null;
  }
}

/** `drain`: asks the running worker to finish its jobs and stop, and waits for that. */
export async function drain(config: Config, terminal: Terminal): Promise<void> {
  const holder = holderOf(config.dataDir);
  if (holder === null) return terminal.say(`no worker of ${config.dataDir} is running`);
  terminal.say(`process ${holder.pid} finishes its jobs and stops …`);
  signal(holder.pid, "SIGTERM");
  const patience = config.drainSeconds + 10;
  if (!(await waitGone(holder, patience * 1_000))) {
    throw new ConfigError(
      `process ${holder.pid} still runs after ${patience} s: a second SIGTERM ends its jobs at once`,
    );
  }
  terminal.say("stopped; finished jobs are paid as usual");
}

/**
 * The running worker of a data folder, and what it says of itself (null: it does not answer); null if none runs.
 * Another worker that answers on the port is not asked for this one's numbers.
 */
export async function runningWorker(
  { dataDir, host, port }: Pick<Config, "dataDir" | "host" | "port">,
  address: Address,
): Promise<{ pid: number; health: Health | null } | null> {
  const holder = holderOf(dataDir);
  if (holder === null) return null;
  const everywhere = host === "0.0.0.0" || host === "::";
  const name = everywhere ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  try {
    const response = await fetch(`http://${name}:${port}/healthz`, { signal: AbortSignal.timeout(5_000) });
    const health = healthSchema.parse(await response.json());
    const own = health.worker.toLowerCase() === address.toLowerCase();
    return { pid: holder.pid, health: own ? health : null };
  } catch {
    // A worker that is starting, or listens elsewhere, runs all the same; the caller says that it does not answer.
    return { pid: holder.pid, health: null };
  }
}

/** `status`: what chain and machine say about a worker; needs no passphrase. */
export async function readStatus(config: Config) {
  const address = workerAddress(config);
  if (address === null) {
    throw new ConfigError(`there is no worker in ${config.dataDir} yet: the first \`${COMMAND}\` makes one`);
  }
  const chain = await connectChain(config, null);
  const state = await readRegistration(chain, address, address);
  const { worker, minimumStake, catalog } = state;
  const payout = worker?.payout ?? address;
  const token = { address: chain.deployment.contracts.Stablecoin, abi: erc20Abi } as const;
  const held = await chain.client.readContract({ ...token, functionName: "balanceOf", args: [payout] });
  const running = await runningWorker(config, address);
  const unsettled = running === null ? await countStored(config.dataDir) : unsettledOf(running.health);
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
    unbonds_at: worker === null || worker.unbondsAt === 0 ? null : time(worker.unbondsAt),
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

function unsettledOf(health: Health | null): Stored {
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
  const here = running === null ? "not running" : `process ${running.pid}, ${describe(running.health)}`;
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
    ["tokens", describeCounting(running?.health ?? null)],
    ["unsettled", describeUnsettled(status)],
  ];
  return rows.map(([name, value]) => `${name.padEnd(10)} ${value}`).join("\n");
}

function describe(health: Health | null): string {
  if (health === null) return "does not answer";
  return `${health.status}, ${health.in_flight} of ${health.capacity} jobs, ${health.queued} waiting`;
}

/** Says how the prompts of each model are counted before its server gets them. */
function describeCounting(health: Health | null): string {
  const models = Object.entries(health?.counting ?? {}).map(([model, { by, window }]) => {
    const holds = window === null ? "" : `, which holds ${window}`;
    return `${model}: ${by === "server" ? "counted by its server" : "estimated, then as its server refuses"}${holds}`;
  });
  return models.join("; ") || "-";
}

function describeUnsettled({ unsettled, unsettled_unknown, process: running }: Status): string {
  if (unsettled === null) return `not known: ${unsettled_unknown}`;
  const wait = unsettled === 1 ? "1 answer waits" : `${unsettled} answers wait`;
  return unsettled > 0 && running === null
    ? `${wait} for settlement, and nobody looks after the pay: start the worker`
    : `${wait} for settlement`;
}

/** A change of the owner's, in words and as a call of the registry. */
type Change = { what: string; data: Hex };
type Registered = { worker: RegisteredWorker; now: number; unbondingPeriod: number };

/** `unbond`, or with --cancel its opposite. */
export function unbond(config: Config, flags: CommandFlags, terminal: Terminal): Promise<void> {
  return change(config, flags, terminal, ({ worker, unbondingPeriod }) => {
    const args = [worker.signer] as const;
    if (flags.cancel) {
      if (worker.unbondsAt === 0) throw new ConfigError("the worker is not unbonding: there is nothing to cancel");
      const data = encodeFunctionData({ abi: workerRegistryAbi, functionName: "cancelUnbonding", args });
      return { what: "take the unbonding back: the worker gets jobs again", data };
    }
    if (worker.unbondsAt !== 0) {
      throw new ConfigError(`the worker is unbonding already; the stake is free from ${time(worker.unbondsAt)}`);
    }
    if (worker.stake === 0n) throw new ConfigError("the worker has no stake to unbond");
    const hours = Math.round(unbondingPeriod / 360) / 10;
    const what = `unbond ${svc(worker.stake)}: no new job from now on, the stake is free in ${hours} hours`;
    return { what, data: encodeFunctionData({ abi: workerRegistryAbi, functionName: "startUnbonding", args }) };
  });
}

/** `withdraw`: pays the unbonded stake out. */
export function withdraw(config: Config, flags: CommandFlags, terminal: Terminal): Promise<void> {
  return change(config, flags, terminal, ({ worker, now }) => {
    if (worker.unbondsAt === 0) {
      throw new ConfigError(`the stake is bonded: start with \`${COMMAND} unbond\` and come back when it is free`);
    }
    if (now < worker.unbondsAt)
      throw new ConfigError(`the stake is free from ${time(worker.unbondsAt)}; come back then`);
    const receiver = flags.to ?? worker.owner;
    if (!isAddress(receiver)) throw new ConfigError(`--to ${receiver} is not an address`);
    const args = [worker.signer, receiver] as const;
    const data = encodeFunctionData({ abi: workerRegistryAbi, functionName: "withdrawStake", args });
    return { what: `pay ${svc(worker.stake)} out to ${receiver}`, data };
  });
}

/** Sends a change of a registered worker, once its operator agreed. `decide` throws a ConfigError where there is nothing to change. */
async function change(
  config: Config,
  flags: CommandFlags,
  terminal: Terminal,
  decide: (registered: Registered) => Change,
): Promise<void> {
  const signer = workerAddress(config);
  if (signer === null) throw new ConfigError(`there is no worker in ${config.dataDir}`);
  const chain = await connectChain(config, null);
  const { worker, unbondingPeriod } = await readRegistration(chain, signer, signer);
  if (worker === null) throw new ConfigError(`worker ${signer} is not registered on this chain`);
  const { timestamp } = await chain.client.getBlock();
  // A quiet chain makes no blocks: its next one has the time of now.
  const now = Math.max(Number(timestamp), Math.floor(Date.now() / 1000));
  const { what, data } = decide({ worker, now, unbondingPeriod });
  if (!(await terminal.confirm(`${what}. Go on?`, flags.yes))) return terminal.say("nothing was sent");
  const ownerKey = config.ownerKey ?? (await openWorkerKey(config, terminal, chain.deployment.chainId));
  const owner = privateKeyToAccount(ownerKey).address;
  requireOwner(worker, owner, "WORKER_OWNER_PRIVATE_KEY");
  await ensureFunds(chain, { owner, stake: 0n, steps: 1 }, terminal);
  const step = { what, to: chain.deployment.contracts.WorkerRegistry, data };
  await sendSteps(chain, ownerKey, [step], terminal);
}

const time = (seconds: number): string => new Date(seconds * 1_000).toISOString();
