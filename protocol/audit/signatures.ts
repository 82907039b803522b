/** Who signed a message of a job. Pure. */
import { type Address, type Hex, hashTypedData, recoverAddress, serializeSignature } from "viem";
import { type Completion, escrowDomain, jobMessageTypes } from "../messages.ts";

/** Half the order of secp256k1: the contract refuses a signature above it. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** Digest that the worker signed. */
function completionDigest(chainId: number, escrow: Address, completion: Completion): Hex {
  return hashTypedData({
    domain: escrowDomain(chainId, escrow),
    types: jobMessageTypes,
    primaryType: "Completion",
    message: completion,
  });
}

/** Signer of a Completion; null for a signature that the contract would refuse (high s, or no key at all). */
export async function completionSigner(
  chainId: number,
  escrow: Address,
  completion: Completion,
  { r, vs }: { r: Hex; vs: Hex },
): Promise<Address | null> {
  const packed = BigInt(vs);
  const s = packed & ((1n << 255n) - 1n);
  if (s > HALF_ORDER) return null;
  const yParity = Number(packed >> 255n);
  try {
    const signature = serializeSignature({ r, s: `0x${s.toString(16).padStart(64, "0")}`, yParity });
    return await recoverAddress({ hash: completionDigest(chainId, escrow, completion), signature });
  } catch {
    // r or s is no point of the curve.
    return null;
  }
}
