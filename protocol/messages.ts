/** EIP-712 messages, as `JobMessages.sol` and `WorkerRegistry.sol` verify them. */
import type { Address, Hex, TypedDataDomain } from "viem";
import { hashStruct, parseSignature, slice } from "viem";

export const jobMessageTypes = {
  Assignment: [
    { name: "jobId", type: "bytes16" },
    { name: "worker", type: "address" },
    { name: "attempt", type: "uint8" },
    { name: "acknowledgeBy", type: "uint40" },
  ],
  Acknowledgement: [
    { name: "jobId", type: "bytes16" },
    { name: "attempt", type: "uint8" },
  ],
  Completion: [
    { name: "jobId", type: "bytes16" },
    { name: "proofHash", type: "bytes32" },
    { name: "promptTokens", type: "uint32" },
    { name: "completionTokens", type: "uint32" },
    { name: "reasoningTokens", type: "uint32" },
    { name: "textBytes", type: "uint32" },
    { name: "completedAt", type: "uint40" },
  ],
} as const;

/** A client's consent to one job, signed by its wallet's authorization key. */
export const authorizationTypes = {
  Authorization: [
    { name: "jobId", type: "bytes16" },
    { name: "wallet", type: "address" },
    { name: "operator", type: "uint8" },
    { name: "model", type: "uint16" },
    { name: "maxTokens", type: "uint32" },
    { name: "maxCredits", type: "uint32" },
    { name: "requestHash", type: "bytes32" },
    { name: "expiresAt", type: "uint40" },
  ],
} as const;

/** A client's will to dispute one job, signed by its wallet's dispute key. */
export const disputeRequestTypes = {
  DisputeRequest: [
    { name: "jobId", type: "bytes16" },
    { name: "receivedHash", type: "bytes32" },
    { name: "workerHash", type: "bytes32" },
    { name: "maxBond", type: "uint32" },
    { name: "keySequence", type: "uint32" },
    { name: "expiresAt", type: "uint40" },
  ],
} as const;

/** A gateway key's consent to sign for an operator. */
export const signerConsentTypes = {
  SignerConsent: [
    { name: "operator", type: "uint8" },
    { name: "admin", type: "address" },
  ],
} as const;

export const enrollmentTypes = { Enrollment: [{ name: "owner", type: "address" }] } as const;

/** The gateway's offer of a job to one worker. Times are Unix seconds. */
export type Assignment = { jobId: Hex; worker: Address; attempt: number; acknowledgeBy: number };
/** The worker's acceptance. */
export type Acknowledgement = { jobId: Hex; attempt: number };
/**
 * The worker's statement of what it answered; one per job, ever. `completionTokens` and `textBytes` (UTF-8) are of the text that `proofHash` is of,
 * `reasoningTokens` of the reasoning that came with it.
 */
export type Completion = {
  jobId: Hex;
  proofHash: Hex;
  promptTokens: number;
  completionTokens: number;
  reasoningTokens: number;
  textBytes: number;
  completedAt: number;
};

/** The message that a client signs for one job. `requestHash` is the SHA-256 of the raw request body. */
export type Authorization = {
  jobId: Hex;
  wallet: Address;
  operator: number;
  model: number;
  maxTokens: number;
  maxCredits: number;
  requestHash: Hex;
  expiresAt: number;
};

/**
 * The message that a dispute key signs for one job. `workerHash` is the hash that the worker signed, `maxBond` the most credits that the
 * wallet puts up, `keySequence` that of the `DisputeKeySet` that named the key (`disputeKeyOf`).
 */
export type DisputeRequest = {
  jobId: Hex;
  receivedHash: Hex;
  workerHash: Hex;
  maxBond: number;
  keySequence: number;
  expiresAt: number;
};

/**
 * Domain of all messages of the escrow.
 *
 * @example
 * escrowDomain(31337, addresses[31337].InferenceEscrow).name; // "InferenceEscrow"
 */
export function escrowDomain(chainId: number, escrow: Address) {
  return {
    name: "InferenceEscrow",
    version: "1",
    chainId,
    verifyingContract: escrow,
  } as const satisfies TypedDataDomain;
}

/**
 * Domain of the enrollment message.
 *
 * @example
 * registryDomain(31337, addresses[31337].WorkerRegistry).name; // "WorkerRegistry"
 */
export function registryDomain(chainId: number, registry: Address) {
  return {
    name: "WorkerRegistry",
    version: "1",
    chainId,
    verifyingContract: registry,
  } as const satisfies TypedDataDomain;
}

/**
 * 65-byte signature → EIP-2098 pair, the form the contracts take.
 *
 * @example
 * const { r, vs } = compactSignature(await account.signTypedData(message));
 */
export function compactSignature(signature: Hex): { r: Hex; vs: Hex } {
  const { r, s, yParity } = parseSignature(signature);
  const vs = BigInt(s) | (BigInt(yParity) << 255n);
  return { r, vs: `0x${vs.toString(16).padStart(64, "0")}` };
}

/**
 * First 28 bytes of the Completion's struct hash: what the escrow remembers of a proof (`proofOf`).
 *
 * @example
 * proofDigest(completion) === slice(proof, 0, 28);
 */
export const proofDigest = (completion: Completion): Hex =>
  slice(hashStruct({ data: completion, types: jobMessageTypes, primaryType: "Completion" }), 0, 28);
