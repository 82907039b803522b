import type { Account, Chain, Hex, PublicClient, Transport, WalletClient } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { Deployment } from "../../protocol/deployment.ts";
import { compactSignature, enrollmentTypes, registryDomain } from "../../protocol/messages.ts";
import { receiptOf } from "../../protocol/receipt.ts";
import { ConfigError } from "../../worker/console.ts";
import { missingStake, readRegistration, registrationSteps, STAKE_UNIT, type Step } from "../../worker/registration.ts";
import type { WorkerEntry } from "./config.ts";

type Wallet = WalletClient<Transport, Chain, Account>;

/** Static ceiling: simulation would need each transaction to be mined before the next. */
const GAS = 1_000_000n;

/**
 * Registers many workers of one owner: what each takes is what the worker itself would send (worker/registration.ts); here it is sent with
 * consecutive nonces, and waited for at the end.
 */
export class Registration {
  readonly #reader: PublicClient;
  readonly #wallet: Wallet;
  readonly #deployment: Deployment;
  readonly #sent: { hash: Hex; what: string }[] = [];
  #nonce: number;
  /** What the registry may take once everything sent so far is mined; null before the first look. */
  #allowance: bigint | null = null;

  private constructor(reader: PublicClient, wallet: Wallet, deployment: Deployment, nonce: number) {
    this.#reader = reader;
    this.#wallet = wallet;
    this.#deployment = deployment;
    this.#nonce = nonce;
  }

  static async begin(reader: PublicClient, wallet: Wallet, deployment: Deployment): Promise<Registration> {
    const nonce = await reader.getTransactionCount({ address: wallet.account.address, blockTag: "pending" });
    return new Registration(reader, wallet, deployment, nonce);
  }

  /** Registers a worker, or changes what differs; one that is unbonding is taken back. */
  async bringUpToDate({ privateKey, endpoint, models, payout }: WorkerEntry): Promise<void> {
    const account = privateKeyToAccount(privateKey);
    const owner = this.#wallet.account.address;
    const chain = { client: this.#reader, deployment: this.#deployment };
    const state = await readRegistration(chain, account.address, owner);
    const allowance = this.#allowance ?? state.owner.allowance;
    state.owner.allowance = allowance;
    const wanted = {
      endpoint,
      models,
      payout: payout ?? account.address,
      stake: state.minimumStake * 2n,
      unbonding: "cancel" as const,
      ownerKeySetting: "OWNER_PRIVATE_KEY",
    };
    const domain = registryDomain(this.#deployment.chainId, this.#deployment.contracts.WorkerRegistry);
    const message = { owner };
    const enrollment = compactSignature(
      await account.signTypedData({ domain, types: enrollmentTypes, primaryType: "Enrollment", message }),
    );
    const steps = registrationSteps(this.#deployment, state, wanted, enrollment);
    const taken = missingStake(state, wanted) * STAKE_UNIT;
    // An allowance that is not enough is replaced by exactly what is taken.
    this.#allowance = allowance < taken ? 0n : allowance - taken;
    for (const step of steps) await this.#send(step);
  }

  /** Waits until everything that was sent is mined; returns its number. Throws for one that reverted. */
  async confirm(): Promise<number> {
    for (const { hash, what } of this.#sent) {
      const receipt = await receiptOf(this.#reader, hash, { timeout: 60_000 });
      if (receipt.status !== "success") {
        throw new ConfigError(
          `cannot ${what}: ${hash} reverted. Has ${this.#wallet.account.address} enough SVC for the stake of all workers?`,
        );
      }
    }
    return this.#sent.length;
  }

  async #send({ what, to, data }: Step): Promise<void> {
    const hash = await this.#wallet.sendTransaction({ to, data, gas: GAS, nonce: this.#nonce++ });
    this.#sent.push({ hash, what });
  }
}
