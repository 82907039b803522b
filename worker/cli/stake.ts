import { type Address, encodeFunctionData, isAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { connectChain } from "../chain/connect.ts";
import type { Config } from "../config/config.ts";
import type { CommandFlags } from "../config/sources.ts";
import { ConfigError } from "../errors.ts";
import { openWorkerKey, workerAddress } from "../keys/worker-key.ts";
import { createLogger } from "../log.ts";
import { ensureFunds } from "../registration/funds.ts";
import { sendSteps } from "../registration/send.ts";
import { type RegisteredWorker, readRegistration, svc } from "../registration/state.ts";
import type { Step } from "../registration/steps.ts";
import type { Terminal } from "./terminal.ts";

type Registered = { worker: RegisteredWorker; now: number; unbondingPeriod: number; registry: Address };

/** `unbond`, or with --cancel its opposite. */
export function unbond(config: Config, flags: CommandFlags, terminal: Terminal): Promise<void> {
  return change(config, flags, terminal, ({ worker, unbondingPeriod, registry }) => {
    const args = [worker.signer] as const;
    if (flags.cancel) {
      if (worker.unbondsAt === 0) throw new ConfigError("the worker is not unbonding: there is nothing to cancel");
      const data = encodeFunctionData({ abi: workerRegistryAbi, functionName: "cancelUnbonding", args });
      return { what: "take the unbonding back: the worker gets jobs again", to: registry, data };
    }
    if (worker.unbondsAt !== 0) {
      throw new ConfigError(`the worker is unbonding already; the stake is free from ${time(worker.unbondsAt)}`);
    }
    if (worker.stake === 0n) throw new ConfigError("the worker has no stake to unbond");
    const hours = Math.round(unbondingPeriod / 360) / 10;
    const what = `unbond ${svc(worker.stake)}: no new job from now on, the stake is free in ${hours} hours`;
    return {
      what,
      to: registry,
      data: encodeFunctionData({ abi: workerRegistryAbi, functionName: "startUnbonding", args }),
    };
  });
}

/** `withdraw`: pays the unbonded stake out. */
export function withdraw(config: Config, flags: CommandFlags, terminal: Terminal): Promise<void> {
  return change(config, flags, terminal, ({ worker, now, registry }) => {
    if (worker.unbondsAt === 0) {
      throw new ConfigError("the stake is bonded: start with `npm run worker -- unbond` and come back when it is free");
    }
    if (now < worker.unbondsAt)
      throw new ConfigError(`the stake is free from ${time(worker.unbondsAt)}; come back then`);
    const receiver = flags.to ?? worker.owner;
    if (!isAddress(receiver)) throw new ConfigError(`--to ${receiver} is not an address`);
    const args = [worker.signer, receiver] as const;
    const data = encodeFunctionData({ abi: workerRegistryAbi, functionName: "withdrawStake", args });
    return { what: `pay ${svc(worker.stake)} out to ${receiver}`, to: registry, data };
  });
}

async function change(
  config: Config,
  flags: CommandFlags,
  terminal: Terminal,
  decide: (registered: Registered) => Step,
): Promise<void> {
  const signer = workerAddress(config);
  if (signer === null) throw new ConfigError(`there is no worker in ${config.dataDir}`);
  const chain = await connectChain(config.rpcUrl, config.deploymentFile, createLogger("silent"), 3_000);
  const { worker, unbondingPeriod } = await readRegistration(chain, signer, signer);
  if (worker === null) throw new ConfigError(`worker ${signer} is not registered on this chain`);
  const { timestamp } = await chain.client.getBlock();
  // A quiet chain makes no blocks: its next one has the time of now.
  const now = Math.max(Number(timestamp), Math.floor(Date.now() / 1000));
  const step = decide({ worker, now, unbondingPeriod, registry: chain.deployment.contracts.WorkerRegistry });
  if (!(await terminal.confirm(`${step.what}. Go on?`, flags.yes))) return terminal.say("nothing was sent");
  const ownerKey = config.ownerKey ?? (await openWorkerKey(config, terminal));
  const owner = privateKeyToAccount(ownerKey).address;
  if (owner !== worker.owner) {
    throw new ConfigError(`the stake belongs to ${worker.owner}: give that account's key in WORKER_OWNER_PRIVATE_KEY`);
  }
  await ensureFunds(chain, { owner, stake: 0n, steps: 1 }, terminal);
  await sendSteps(chain, ownerKey, [step], (text) => terminal.say(text));
}

const time = (seconds: number): string => new Date(seconds * 1_000).toISOString();
