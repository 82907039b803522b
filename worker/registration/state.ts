import { type Address, type ContractFunctionReturnType, erc20Abi } from "viem";
import { modelCatalogAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { decodePayee } from "../../protocol/words.ts";
import type { Chain } from "../chain/connect.ts";

/** What is read with. */
type ChainView = Pick<Chain, "client" | "deployment">;

export type RegisteredWorker = ContractFunctionReturnType<typeof workerRegistryAbi, "view", "workerAt">;

/** Base units of one stake unit, a millionth of an 18-decimal SVC. */
export const STAKE_UNIT = 10n ** 12n;
export const UNITS_PER_SVC = 1_000_000;

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
  /** The account that registers: what it has. */
  owner: { address: Address; stakeTokens: bigint; allowance: bigint; gas: bigint };
};

/** Reads it. `owner` is whose key the operator has; a registered worker may belong to somebody else. */
export async function readRegistration(chain: ChainView, signer: Address, owner: Address): Promise<RegistrationState> {
  const { client, deployment } = chain;
  const { ModelCatalog, WorkerRegistry, ServiceToken } = deployment.contracts;
  const registry = { address: WorkerRegistry, abi: workerRegistryAbi } as const;
  const token = { address: ServiceToken, abi: erc20Abi } as const;
  const [payee, catalog, minimumStake, unbondingPeriod, stakeTokens, allowance, gas] = await Promise.all([
    client.readContract({ ...registry, functionName: "payeeOf", args: [signer, 0] }),
    readCatalog(chain, ModelCatalog),
    client.readContract({ ...registry, functionName: "minimumStake" }),
    client.readContract({ ...registry, functionName: "unbondingPeriod" }),
    client.readContract({ ...token, functionName: "balanceOf", args: [owner] }),
    client.readContract({ ...token, functionName: "allowance", args: [owner, WorkerRegistry] }),
    client.getBalance({ address: owner }),
  ]);
  const id = decodePayee(payee)?.id;
  const worker =
    id === undefined ? null : await client.readContract({ ...registry, functionName: "workerAt", args: [id] });
  return {
    signer,
    worker,
    catalog,
    minimumStake,
    unbondingPeriod,
    owner: { address: owner, stakeTokens, allowance, gas },
  };
}

async function readCatalog({ client }: ChainView, address: Address): Promise<ReadonlyMap<string, number>> {
  const contract = { address, abi: modelCatalogAbi } as const;
  const count = await client.readContract({ ...contract, functionName: "modelCount" });
  const views = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      client.readContract({ ...contract, functionName: "modelAt", args: [i + 1] }),
    ),
  );
  return new Map(views.map((view) => [view.listing.id, view.number]));
}

/** Millionths of an SVC as people write it. */
export function svc(units: bigint): string {
  const whole = Number(units) / UNITS_PER_SVC;
  return `${whole.toLocaleString("en", { maximumFractionDigits: 6 })} SVC`;
}
