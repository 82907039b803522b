/** Who signed a message of a job. Pure. */
import { type Address, type Hex, hashStruct, hashTypedData, recoverAddress, serializeSignature, slice } from "viem";
import {
  type Acknowledgement,
  type Assignment,
  type Authorization,
  authorizationTypes,
  type Completion,
  escrowDomain,
  jobMessageTypes,
} from "../messages.ts";

type Messages = {
  Assignment: Assignment;
  Acknowledgement: Acknowledgement;
  Completion: Completion;
  Authorization: Authorization;
};
/** A compact signature (EIP-2098). */
export type CompactSignature = { r: Hex; vs: Hex };

const TYPES = { ...jobMessageTypes, ...authorizationTypes };
/** Half the order of secp256k1: the contract refuses a signature above it. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** Signer of a message of the escrow; null for a signature that the contract would refuse (high s, or no key at all). */
export async function messageSigner<Name extends keyof Messages>(
  [chainId, escrow]: readonly [chainId: number, escrow: Address],
  primaryType: Name,
  message: Messages[Name],
  { r, vs }: CompactSignature,
): Promise<Address | null> {
  const packed = BigInt(vs);
  const s = packed & ((1n << 255n) - 1n);
  if (s > HALF_ORDER) return null;
  const yParity = Number(packed >> 255n);
  try {
    const signature = serializeSignature({ r, s: `0x${s.toString(16).padStart(64, "0")}`, yParity });
    const typed = { domain: escrowDomain(chainId, escrow), types: TYPES, primaryType, message };
    return await recoverAddress({ hash: hashTypedData(typed as Parameters<typeof hashTypedData>[0]), signature });
  } catch {
    // r or s is no point of the curve.
    return null;
  }
}

/** Signer of a Completion. */
export const completionSigner = (chainId: number, escrow: Address, completion: Completion, by: CompactSignature) =>
  messageSigner([chainId, escrow], "Completion", completion, by);

/** What the chain keeps of a proof: the first 28 bytes of the Completion's struct hash. */
export const proofDigest = (completion: Completion): Hex =>
  slice(hashStruct({ data: completion, types: jobMessageTypes, primaryType: "Completion" }), 0, 28);
