import { type Address, encodeFunctionData, erc20Abi, type Hex, isAddressEqual } from "viem";
import type { Deployment } from "../../protocol/deployment.ts";
import { workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { ConfigError } from "../errors.ts";
import { type RegistrationState, STAKE_UNIT, svc } from "./state.ts";

/** How a worker should stand on chain. Stake in millionths of an SVC; it is filled up, never taken away. */
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
 * What has to be sent so that a worker stands as wanted; nothing if it does. `enrollment`: the signing key's consent to its owner, needed once.
 * `ownerKey`: the setting that holds the owner's key, for the message when it is another's.
 */
export function registrationSteps(
  { contracts }: Deployment,
  state: RegistrationState,
  wanted: Wanted,
  enrollment: { r: Hex; vs: Hex },
  ownerKey = "WORKER_OWNER_PRIVATE_KEY",
): Step[] {
  const { signer, worker, owner } = state;
  if (worker !== null && worker.unbondsAt !== 0 && wanted.unbonding === "leave") return [];
  const models = modelNumbers(state.catalog, wanted.models);
  const steps: Step[] = [];
  const call = (what: string, data: Hex): void => void steps.push({ what, to: contracts.WorkerRegistry, data });
  const abi = workerRegistryAbi;

  const added = missingStake(state, wanted);
  if (added > 0n && owner.allowance < added * STAKE_UNIT) {
    const args = [contracts.WorkerRegistry, added * STAKE_UNIT] as const;
    const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args });
    steps.push({ what: `allow the registry to take ${svc(added)}`, to: contracts.ServiceToken, data });
  }
  if (worker === null) {
    const args = [signer, wanted.payout, wanted.endpoint, models, added, enrollment] as const;
    call(
      `register ${signer} at ${wanted.endpoint} for ${wanted.models.join(", ")} with ${svc(added)}`,
      encodeFunctionData({ abi, functionName: "register", args }),
    );
    return steps;
  }

  if (!isAddressEqual(worker.owner, owner.address)) {
    throw new ConfigError(`worker ${signer} is owned by ${worker.owner}: give that account's key in ${ownerKey}`);
  }
  if (worker.unbondsAt !== 0) {
    const data = encodeFunctionData({ abi, functionName: "cancelUnbonding", args: [signer] });
    call("take the unbonding back", data);
  }
  if (worker.endpoint !== wanted.endpoint) {
    const args = [signer, wanted.endpoint] as const;
    call(
      `change the endpoint from ${worker.endpoint} to ${wanted.endpoint}`,
      encodeFunctionData({ abi, functionName: "setEndpoint", args }),
    );
  }
  if (!isAddressEqual(worker.payout, wanted.payout)) {
    const args = [signer, wanted.payout] as const;
    call(
      `change the payout from ${worker.payout} to ${wanted.payout}`,
      encodeFunctionData({ abi, functionName: "setPayout", args }),
    );
  }
  const nameOf = (number: number): string => [...state.catalog].find(([, n]) => n === number)?.[0] ?? `model ${number}`;
  const host = (numbers: number[], hosted: boolean): void => {
    if (numbers.length === 0) return;
    const what = `${hosted ? "host" : "no longer host"} ${numbers.map(nameOf).join(", ")}`;
    call(what, encodeFunctionData({ abi, functionName: "setHosting", args: [signer, numbers, hosted] }));
  };
  host(
    models.filter((model) => !worker.models.includes(model)),
    true,
  );
  host(
    worker.models.filter((model) => !models.includes(model)),
    false,
  );
  if (added > 0n) {
    call(`add ${svc(added)} of stake`, encodeFunctionData({ abi, functionName: "addStake", args: [signer, added] }));
  }
  return steps;
}
