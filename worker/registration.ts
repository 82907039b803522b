/** A worker on chain: how it stands, how it should stand, and the owner's transactions between the two. */

import { setTimeout } from "node:timers/promises";
import {
  type Address,
  BaseError,
  type ContractFunctionReturnType,
  encodeFunctionData,
  erc20Abi,
  formatEther,
  type Hex,
  isAddressEqual,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { Deployment } from "../protocol/deployment.ts";
import { DEV_CHAIN_ID } from "../protocol/deployment.ts";
import { workerRegistryAbi } from "../protocol/generated/abi.ts";
import { receiptOf } from "../protocol/receipt.ts";
import { sendInTurn } from "../shared/nonce-race.ts";
import { type Chain, type ChainView, payeeId, readCatalog, revertOf, walletOf } from "./chain.ts";
import { ConfigError, type Terminal } from "./console.ts";
import { giveDevelopmentFunds } from "./development.ts";

export type RegisteredWorker = ContractFunctionReturnType<typeof workerRegistryAbi, "view", "workerAt">;

/** Base units of one stake unit, a millionth of an 18-decimal SVC. */
export const STAKE_UNIT = 10n ** 12n;
export const UNITS_PER_SVC = 1_000_000;

/** Millionths of an SVC as people write it. */
export function svc(units: bigint): string {
  const amount = Number(units) / UNITS_PER_SVC;
  return `${amount.toLocaleString("en", { maximumFractionDigits: 6 })} SVC`;
}

/** What the chain says about a worker and its owner. Stake in millionths of an SVC. */
export type RegistrationState = {
  signer: Address;
  /** Null: not registered. */
  worker: RegisteredWorker | null;
  /** Catalog id → number. */
  catalog: ReadonlyMap<string, number>;
  minimumStake: bigint;
  /** Seconds. */
  unbondingPeriod: number;
  /** The account that registers: what the registry may take of its SVC (base units), and its gas money. */
  owner: { address: Address; allowance: bigint; gas: bigint };
};

/** Reads it. `owner` is whose key the operator has; a registered worker may belong to somebody else. */
export async function readRegistration(chain: ChainView, signer: Address, owner: Address): Promise<RegistrationState> {
  const { client, deployment } = chain;
  const { WorkerRegistry, ServiceToken } = deployment.contracts;
  const registry = { address: WorkerRegistry, abi: workerRegistryAbi } as const;
  const token = { address: ServiceToken, abi: erc20Abi } as const;
  const [id, catalog, minimumStake, unbondingPeriod, allowance, gas] = await Promise.all([
    payeeId(chain, signer, 0),
    readCatalog(chain),
    client.readContract({ ...registry, functionName: "minimumStake" }),
    client.readContract({ ...registry, functionName: "unbondingPeriod" }),
    client.readContract({ ...token, functionName: "allowance", args: [owner, WorkerRegistry] }),
    client.getBalance({ address: owner }),
  ]);
  const worker = id === null ? null : await client.readContract({ ...registry, functionName: "workerAt", args: [id] });
  return { signer, worker, catalog, minimumStake, unbondingPeriod, owner: { address: owner, allowance, gas } };
}

/** The terms that a worker's operator wants on chain. Stake in millionths of an SVC; it is filled up, never taken away. */
export type Wanted = {
  endpoint: string;
  models: readonly string[];
  payout: Address;
  stake: bigint;
  /** A worker that is unbonding gets no jobs: it is taken back, or left as it is. */
  unbonding: "cancel" | "leave";
};

/** One transaction of the owner, and what it does in words. */
export type Step = { what: string; to: Address; data: Hex };

/** Catalog numbers of model ids. Throws a ConfigError that lists what there is. */
export function modelNumbers(catalog: ReadonlyMap<string, number>, ids: readonly string[]): number[] {
  const unknown = ids.filter((id) => !catalog.has(id));
  if (unknown.length > 0) {
    throw new ConfigError(
      `the catalog does not list ${unknown.join(", ")}; it lists ${[...catalog.keys()].join(", ")}. ` +
        "Where the model server has another name: --models catalog-id=name-at-the-server",
    );
  }
  return ids.map((id) => catalog.get(id) as number);
}

/** Stake that has to be added, millionths of an SVC. */
export const missingStake = ({ worker }: RegistrationState, { stake }: Wanted): bigint => {
  const held = worker?.stake ?? 0n;
  return held < stake ? stake - held : 0n;
};

/**
 * The transactions that the owner has to send so that the worker stands on chain as wanted; none if it already does. `enrollment` is the
 * signing key's consent to its owner.
 */
export function registrationSteps(
  { contracts }: Deployment,
  state: RegistrationState,
  wanted: Wanted,
  enrollment: { r: Hex; vs: Hex },
): Step[] {
  const { signer, worker, owner } = state;
  if (worker !== null && worker.unbondsAt !== 0 && wanted.unbonding === "leave") return [];
  const models = modelNumbers(state.catalog, wanted.models);
  const steps: Step[] = [];
  const abi = workerRegistryAbi;
  const call = (what: string, data: Hex): void => void steps.push({ what, to: contracts.WorkerRegistry, data });

  const added = missingStake(state, wanted);
  if (added > 0n && owner.allowance < added * STAKE_UNIT) {
    const args = [contracts.WorkerRegistry, added * STAKE_UNIT] as const;
    const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args });
    steps.push({ what: `allow the registry to take ${svc(added)}`, to: contracts.ServiceToken, data });
  }
  if (worker === null) {
    const args = [signer, wanted.payout, wanted.endpoint, models, added, enrollment] as const;
    const what = `register ${signer} at ${wanted.endpoint} for ${wanted.models.join(", ")} with ${svc(added)}`;
    call(what, encodeFunctionData({ abi, functionName: "register", args }));
    return steps;
  }

  if (worker.unbondsAt !== 0) {
    const data = encodeFunctionData({ abi, functionName: "cancelUnbonding", args: [signer] });
    call("take the unbonding back", data);
  }
  if (worker.endpoint !== wanted.endpoint) {
    const data = encodeFunctionData({ abi, functionName: "setEndpoint", args: [signer, wanted.endpoint] });
    call(`change the endpoint from ${worker.endpoint} to ${wanted.endpoint}`, data);
  }
  if (!isAddressEqual(worker.payout, wanted.payout)) {
    const data = encodeFunctionData({ abi, functionName: "setPayout", args: [signer, wanted.payout] });
    call(`change the payout from ${worker.payout} to ${wanted.payout}`, data);
  }
  const nameOf = (number: number): string => [...state.catalog].find(([, n]) => n === number)?.[0] ?? `model ${number}`;
  const host = (numbers: number[], hosted: boolean): void => {
    if (numbers.length === 0) return;
    const what = `${hosted ? "host" : "no longer host"} ${numbers.map(nameOf).join(", ")}`;
    call(what, encodeFunctionData({ abi, functionName: "setHosting", args: [signer, numbers, hosted] }));
  };
  const [fresh, dropped] = [
    models.filter((model) => !worker.models.includes(model)),
    worker.models.filter((model) => !models.includes(model)),
  ];
  host(fresh, true);
  host(dropped, false);
  if (added > 0n) {
    call(`add ${svc(added)} of stake`, encodeFunctionData({ abi, functionName: "addStake", args: [signer, added] }));
  }
  return steps;
}

/** Throws a ConfigError that names the owner unless `address` is it. `setting`: where its key belongs. */
export function requireOwner({ signer, owner }: RegisteredWorker, address: Address, setting: string): void {
  if (isAddressEqual(owner, address)) return;
  throw new ConfigError(`worker ${signer} is owned by ${owner}: give that account's key in ${setting}`);
}

/** A registration takes less; the rest pays for settling alone, should a gateway fall silent. */
const GAS_PER_STEP = 1_000_000n;
const POLL_MS = 3_000;

/** The funds that an owner needs for its transactions: stake in millionths of an SVC, and gas for `steps` of them. */
type Need = { owner: Address; stake: bigint; steps: number };

/**
 * Waits until the owner has the stake and the gas that it needs. A development chain gives them; elsewhere the operator is told
 * what to send where. Throws a ConfigError when nobody sits at the terminal to send it.
 */
export async function ensureFunds(chain: Chain, need: Need, terminal: Terminal): Promise<void> {
  let told = false;
  for (;;) {
    const missing = await missingFunds(chain, need);
    if (missing.stake === 0n && missing.gas === 0n) return;
    if (chain.deployment.chainId === DEV_CHAIN_ID) {
      await giveDevelopmentFunds(chain, need.owner, { stake: missing.stake * STAKE_UNIT, gas: missing.gas });
      terminal.say(`development chain: gave ${need.owner} its stake and gas`);
      continue;
    }
    const parts = [
      ...(missing.stake > 0n ? [`${svc(missing.stake)} (token ${chain.deployment.contracts.ServiceToken})`] : []),
      ...(missing.gas > 0n ? [`${formatEther(missing.gas)} of the chain's currency for gas`] : []),
    ];
    const message = `${need.owner} lacks ${parts.join(" and ")}`;
    if (!terminal.interactive) throw new ConfigError(`${message}: send it there, then start again`);
    if (!told) terminal.say(`${message}. Send it there; waiting …`);
    told = true;
    await setTimeout(POLL_MS);
  }
}

type Missing = { stake: bigint; gas: bigint };

async function missingFunds({ client, deployment }: Chain, { owner, stake, steps }: Need): Promise<Missing> {
  const token = { address: deployment.contracts.ServiceToken, abi: erc20Abi } as const;
  const [tokens, balance, { maxFeePerGas }] = await Promise.all([
    client.readContract({ ...token, functionName: "balanceOf", args: [owner] }),
    client.getBalance({ address: owner }),
    client.estimateFeesPerGas(),
  ]);
  const gas = GAS_PER_STEP * BigInt(steps) * maxFeePerGas;
  const lacking = stake * STAKE_UNIT - tokens;
  return {
    stake: lacking > 0n ? (lacking + STAKE_UNIT - 1n) / STAKE_UNIT : 0n,
    gas: balance < gas ? gas - balance : 0n,
  };
}

/** Sends the owner's transactions one after the other and waits for each. Throws a ConfigError that says which one failed and why. */
export async function sendSteps(
  chain: Chain,
  ownerKey: Hex,
  steps: readonly Step[],
  terminal: Terminal,
): Promise<void> {
  const wallet = walletOf(chain, privateKeyToAccount(ownerKey));
  for (const { what, to, data } of steps) {
    // Workers of one owner may start at the same time.
    const hash = await sendInTurn(() => wallet.sendTransaction({ to, data })).catch((error: unknown) => {
      throw new ConfigError(`cannot ${what}: ${reasonOf(error)}`);
    });
    const receipt = await receiptOf(chain.client, hash);
    if (receipt.status !== "success") throw new ConfigError(`cannot ${what}: transaction ${hash} reverted`);
    terminal.say(`done: ${what} (${hash})`);
  }
}

/** The contract's error by name, or the node's own words. */
function reasonOf(error: unknown): string {
  const revert = revertOf(error);
  if (revert !== null && revert.name !== "Unknown") return `${revert.name}(${revert.args.map(String).join(", ")})`;
  if (error instanceof BaseError) return error.shortMessage;
  return error instanceof Error ? error.message : String(error);
}
