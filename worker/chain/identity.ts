import { type Address, type Hex, hashTypedData, isAddressEqual, type LocalAccount } from "viem";
import type { Deployment } from "../../protocol/deployment.ts";
import { outputAccessTypes } from "../../protocol/dispatch.ts";
import { type Assignment, type Completion, escrowDomain, jobMessageTypes } from "../../protocol/messages.ts";
import { recoverSigner, signingAccount } from "../../protocol/secp256k1.ts";

/** The worker's signing key, and the check of gateways' signatures. */
export class Identity {
  readonly account: LocalAccount;
  readonly #domain: ReturnType<typeof escrowDomain>;

  constructor(privateKey: Hex, deployment: Deployment) {
    this.account = signingAccount(privateKey);
    this.#domain = escrowDomain(deployment.chainId, deployment.contracts.InferenceEscrow);
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
    const types = { Acknowledgement: jobMessageTypes.Acknowledgement };
    return this.account.signTypedData({
      domain: this.#domain,
      types,
      primaryType: "Acknowledgement",
      message: { jobId, attempt },
    });
  }

  /** Signs what was answered. The caller stores the Completion before the signature goes anywhere, and asks once a job. */
  signCompletion(message: Completion): Promise<Hex> {
    const types = { Completion: jobMessageTypes.Completion };
    return this.account.signTypedData({ domain: this.#domain, types, primaryType: "Completion", message });
  }

  /** Who signed an Assignment; null for a signature the contracts would refuse, as the worker could not claim its pay with it. */
  recoverAssignment(message: Assignment, signature: Hex): Address | null {
    const types = { Assignment: jobMessageTypes.Assignment };
    const hash = hashTypedData({ domain: this.#domain, types, primaryType: "Assignment", message });
    return recoverSigner(hash, signature);
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
