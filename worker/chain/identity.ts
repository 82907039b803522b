import { type Address, type Hex, isAddressEqual, parseSignature, recoverTypedDataAddress } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import type { Deployment } from "../../protocol/deployment.ts";
import { outputAccessTypes } from "../../protocol/dispatch.ts";
import { type Assignment, type Completion, escrowDomain, jobMessageTypes } from "../../protocol/messages.ts";

/** Half the order of secp256k1: the largest "low" s. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** The worker's signing key, and the check of gateways' signatures. */
export class Identity {
  readonly account: PrivateKeyAccount;
  readonly #domain: ReturnType<typeof escrowDomain>;

  constructor(privateKey: Hex, deployment: Deployment) {
    this.account = privateKeyToAccount(privateKey);
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

  /** Who signed an Assignment; null for a signature the contracts would refuse. */
  recoverAssignment(message: Assignment, signature: Hex): Promise<Address | null> {
    const types = { Assignment: jobMessageTypes.Assignment };
    return recover(signature, () =>
      recoverTypedDataAddress({ domain: this.#domain, types, primaryType: "Assignment", message, signature }),
    );
  }

  /** Who signed for access to an output; null for a malformed signature. */
  recoverAccess(message: { jobId: Hex; worker: Address; expiresAt: number }, signature: Hex): Promise<Address | null> {
    const data = {
      domain: this.#domain,
      types: outputAccessTypes,
      primaryType: "OutputAccess",
      message,
      signature,
    } as const;
    return recover(signature, () => recoverTypedDataAddress(data));
  }
}

async function recover(signature: Hex, address: () => Promise<Address>): Promise<Address | null> {
  try {
    // The contracts take low-s signatures only; with another one the worker could not claim its pay by itself.
    if (BigInt(parseSignature(signature).s) > HALF_ORDER) return null;
    return await address();
  } catch {
    // Bytes that are no signature at all have no signer.
    return null;
  }
}
