import {
  type Account,
  type Address,
  type Chain,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  type Hex,
  isAddressEqual,
  type PublicClient,
  type Transport,
  type WalletClient,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { Deployment } from "../../protocol/deployment.ts";
import { modelCatalogAbi, serviceTokenAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { compactSignature, enrollmentTypes, registryDomain } from "../../protocol/messages.ts";
import { ConfigError, type WorkerEntry } from "./config.ts";

type Wallet = WalletClient<Transport, Chain, Account>;
type RegistryCall = EncodeFunctionDataParameters<typeof workerRegistryAbi>;
type State = { models: ReadonlyMap<string, number>; target: bigint; allowance: bigint; nonce: number };

/** Base units of one stake unit (a millionth of an SVC). */
const STAKE_UNIT = 10n ** 12n;
/** Static ceiling: simulation would need each transaction to be mined before the next. */
const GAS = 1_000_000n;

/** Sends what is missing with consecutive nonces, and waits for all of it at the end. */
export class Registration {
  readonly #reader: PublicClient;
  readonly #wallet: Wallet;
  readonly #deployment: Deployment;
  readonly #state: State;
  readonly #sent: { hash: Hex; what: string }[] = [];

  private constructor(reader: PublicClient, wallet: Wallet, deployment: Deployment, state: State) {
    this.#reader = reader;
    this.#wallet = wallet;
    this.#deployment = deployment;
    this.#state = state;
  }

  /** Reads what all workers have in common: catalog, minimum stake, allowance. */
  static async begin(reader: PublicClient, wallet: Wallet, deployment: Deployment): Promise<Registration> {
    const { ModelCatalog, WorkerRegistry, ServiceToken } = deployment.contracts;
    const catalog = { address: ModelCatalog, abi: modelCatalogAbi } as const;
    const token = { address: ServiceToken, abi: serviceTokenAbi } as const;
    const owner = wallet.account.address;
    const [count, minimum, allowance, nonce] = await Promise.all([
      reader.readContract({ ...catalog, functionName: "modelCount" }),
      reader.readContract({ address: WorkerRegistry, abi: workerRegistryAbi, functionName: "minimumStake" }),
      reader.readContract({ ...token, functionName: "allowance", args: [owner, WorkerRegistry] }),
      reader.getTransactionCount({ address: owner, blockTag: "pending" }),
    ]);
    const numbers = Array.from({ length: count }, (_, i) => i + 1);
    const views = await Promise.all(
      numbers.map((n) => reader.readContract({ ...catalog, functionName: "modelAt", args: [n] })),
    );
    const models = new Map(views.map((view) => [view.listing.id, view.number]));
    const target = minimum * 2n;
    return new Registration(reader, wallet, deployment, { models, target, allowance, nonce });
  }

  /** Registers a worker, or changes what differs. */
  async bringUpToDate(entry: WorkerEntry): Promise<void> {
    const account = privateKeyToAccount(entry.privateKey);
    const signer = account.address;
    const payout = entry.payout ?? signer;
    const wanted = entry.models.map((id) => this.#modelNumber(id));
    const registry = { address: this.#deployment.contracts.WorkerRegistry, abi: workerRegistryAbi } as const;
    const [id] = await this.#reader.readContract({ ...registry, functionName: "payeeOf", args: [signer] });
    const { target } = this.#state;
    if (id === 0) {
      await this.#allow(target);
      const domain = registryDomain(this.#deployment.chainId, registry.address);
      const message = { owner: this.#wallet.account.address };
      const enrollment = compactSignature(
        await account.signTypedData({ domain, types: enrollmentTypes, primaryType: "Enrollment", message }),
      );
      return this.#call({
        abi: workerRegistryAbi,
        functionName: "register",
        args: [signer, payout, entry.endpoint, wanted, target, enrollment],
      });
    }

    const now = await this.#reader.readContract({ ...registry, functionName: "workerAt", args: [id] });
    if (!isAddressEqual(now.owner, this.#wallet.account.address)) {
      throw new ConfigError(
        `worker ${signer} is owned by ${now.owner}: run this with the key of that account in OWNER_PRIVATE_KEY`,
      );
    }
    if (now.unbondsAt !== 0)
      await this.#call({ abi: workerRegistryAbi, functionName: "cancelUnbonding", args: [signer] });
    if (now.endpoint !== entry.endpoint) {
      await this.#call({ abi: workerRegistryAbi, functionName: "setEndpoint", args: [signer, entry.endpoint] });
    }
    if (!isAddressEqual(now.payout, payout))
      await this.#call({ abi: workerRegistryAbi, functionName: "setPayout", args: [signer, payout] });
    const added = wanted.filter((model) => !now.models.includes(model));
    const removed = now.models.filter((model) => !wanted.includes(model));
    if (added.length > 0)
      await this.#call({ abi: workerRegistryAbi, functionName: "setHosting", args: [signer, added, true] });
    if (removed.length > 0)
      await this.#call({ abi: workerRegistryAbi, functionName: "setHosting", args: [signer, removed, false] });
    if (now.stake < target) {
      await this.#allow(target - now.stake);
      await this.#call({ abi: workerRegistryAbi, functionName: "addStake", args: [signer, target - now.stake] });
    }
  }

  /** Waits until everything that was sent is mined; returns its number. Throws for one that reverted. */
  async confirm(): Promise<number> {
    for (const { hash, what } of this.#sent) {
      const receipt = await this.#reader.waitForTransactionReceipt({ hash, timeout: 60_000 });
      if (receipt.status !== "success") {
        throw new ConfigError(
          `${what} reverted in ${hash}: has ${this.#wallet.account.address} enough SVC for the stake of all workers?`,
        );
      }
    }
    return this.#sent.length;
  }

  #modelNumber(id: string): number {
    const number = this.#state.models.get(id);
    if (number === undefined)
      throw new ConfigError(`the catalog does not list ${id}; it lists ${[...this.#state.models.keys()].join(", ")}`);
    return number;
  }

  /** Lets the registry take `stake` more; the allowance of this run is used up by it. */
  async #allow(stake: bigint): Promise<void> {
    const needed = stake * STAKE_UNIT;
    if (this.#state.allowance < needed) {
      const args = [this.#deployment.contracts.WorkerRegistry, needed] as const;
      const data = encodeFunctionData({ abi: serviceTokenAbi, functionName: "approve", args });
      await this.#send(this.#deployment.contracts.ServiceToken, data, "approve");
      this.#state.allowance = needed;
    }
    this.#state.allowance -= needed;
  }

  #call(call: RegistryCall & { functionName: string }): Promise<void> {
    return this.#send(
      this.#deployment.contracts.WorkerRegistry,
      encodeFunctionData(call as EncodeFunctionDataParameters),
      call.functionName,
    );
  }

  async #send(to: Address, data: Hex, what: string): Promise<void> {
    const hash = await this.#wallet.sendTransaction({ to, data, gas: GAS, nonce: this.#state.nonce++ });
    this.#sent.push({ hash, what });
  }
}
