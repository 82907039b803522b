import {
  type Address,
  bytesToHex,
  type Hex,
  hashMessage,
  hashTypedData,
  hexToBytes,
  keccak256,
  type LocalAccount,
  serializeTransaction,
  type TransactionSerializable,
} from "viem";
import { privateKeyToAccount, publicKeyToAddress, toAccount } from "viem/accounts";
import { recoverPoint, signRecoverable } from "./libsecp256k1.ts";

/**
 * Signing and recovery by libsecp256k1: many times faster than the pure JavaScript that viem brings, and every request is signed
 * for and recovered from half a dozen times on its way.
 */

/** Half the order of the curve: the largest "low" s. The contracts refuse signatures above it. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** An account that signs digests too. */
export type SigningAccount = LocalAccount & { sign: NonNullable<LocalAccount["sign"]> };

/** An account that signs here with `privateKey` (0x and 64 hex digits): low s, deterministic (RFC 6979). */
export function signingAccount(privateKey: Hex): SigningAccount {
  // Refuses what is no private key, with viem's message.
  const { address } = privateKeyToAccount(privateKey);
  const key = hexToBytes(privateKey);
  const signHash = (hash: Hex): { r: Hex; s: Hex; yParity: 0 | 1 } => {
    const { signature, recoveryId } = signRecoverable(hexToBytes(hash), key);
    const yParity = (recoveryId & 1) as 0 | 1;
    return { r: bytesToHex(signature.subarray(0, 32)), s: bytesToHex(signature.subarray(32)), yParity };
  };
  const sign = (hash: Hex): Hex => {
    const { r, s, yParity } = signHash(hash);
    return `${r}${s.slice(2)}${yParity ? "1c" : "1b"}`;
  };
  return toAccount({
    address,
    sign: async ({ hash }) => sign(hash),
    signMessage: async ({ message }) => sign(hashMessage(message)),
    signTypedData: async (data) => sign(hashTypedData(data as Parameters<typeof hashTypedData>[0])),
    signTransaction: async (transaction) => {
      const unsigned = transaction as TransactionSerializable;
      return serializeTransaction(unsigned, signHash(keccak256(serializeTransaction(unsigned))));
    },
  }) as SigningAccount;
}

/** Who signed `hash`; null for bytes that are no signature, or one that the contracts refuse (65 bytes, low s, v 27 or 28). */
export function recoverSigner(hash: Hex, signature: Hex): Address | null {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return null;
  const bytes = hexToBytes(signature);
  const v = bytes[64] as number;
  if (v !== 27 && v !== 28) return null;
  if (BigInt(bytesToHex(bytes.subarray(32, 64))) > HALF_ORDER) return null;
  try {
    const point = recoverPoint(hexToBytes(hash), bytes.subarray(0, 64), (v - 27) as 0 | 1);
    return point === null ? null : publicKeyToAddress(bytesToHex(point));
  } catch {
    // r or s is zero or beyond the order of the curve: nobody's signature.
    return null;
  }
}
