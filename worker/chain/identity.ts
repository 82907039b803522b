import { type Address, type Hex, hashTypedData, isAddressEqual } from "viem";
import type { Deployment } from "../../protocol/deployment.ts";
import { type JobDigests, jobDigests } from "../../protocol/digests.ts";
import { outputAccessTypes } from "../../protocol/dispatch.ts";
import { type Assignment, type Completion, escrowDomain } from "../../protocol/messages.ts";
import { recoverSigner, type SigningAccount, signingAccount } from "../../protocol/secp256k1.ts";

/** The worker's signing key, and the check of gateways' signatures. */
export class Identity {
  readonly account: SigningAccount;
  readonly #domain: ReturnType<typeof escrowDomain>;
  readonly #digests: JobDigests;

  constructor(privateKey: Hex, deployment: Deployment) {
    this.account = signingAccount(privateKey);
    const { chainId, contracts } = deployment;
    this.#domain = escrowDomain(chainId, contracts.InferenceEscrow);
    this.#digests = jobDigests(chainId, contracts.InferenceEscrow);
  }

  /** The worker's address on chain. */
  get address(): Address {
    return this.account.address;
  }

  /** Whether an address is this worker's. */
  is(address: Address): boolean {
    return isAddressEqual(address, this.address);
  }

  /** Signs that the worker takes a job. */
  signAcknowledgement(jobId: Hex, attempt: number): Promise<Hex> {
    return this.account.sign({ hash: this.#digests.acknowledgement({ jobId, attempt }) });
  }

  /** Signs what was answered. The caller stores the Completion before the signature goes anywhere, and asks once a job. */
  signCompletion(message: Completion): Promise<Hex> {
    return this.account.sign({ hash: this.#digests.completion(message) });
  }

  /** Who signed an Assignment; null for a signature the contracts would refuse, as the worker could not claim its pay with it. */
  recoverAssignment(message: Assignment, signature: Hex): Address | null {
    return recoverSigner(this.#digests.assignment(message), signature);
  }

  /** Who signed for access to an output; null for a malformed signature. */
  recoverAccess(message: { jobId: Hex; worker: Address; expiresAt: number }, signature: Hex): Address | null {
    const hash = hashTypedData({
      domain: this.#domain,
      types: outputAccessTypes,
      primaryType: "OutputAccess",
      message,
    });
    return recoverSigner(hash, signature);
  }
}
