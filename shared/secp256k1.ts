/**
 * Signing and recovery by libsecp256k1. A request needs seven of them. Each takes 45 and 75 µs here; viem's JavaScript
 * takes 600 and 2,000 µs, and the same library as WebAssembly 160 and 350 µs.
 */
import { createRequire } from "node:module";
import { secp256k1 as noble } from "@noble/curves/secp256k1";
import {
  type Address,
  bytesToHex,
  getAddress,
  type Hex,
  hashMessage,
  hashTypedData,
  hexToBytes,
  type LocalAccount,
  serializeTransaction,
  type TransactionSerializable,
} from "viem";
import { toAccount } from "viem/accounts";
import { hashOfTransaction, keccak256 } from "./keccak.ts";

type Curve = {
  /** Uncompressed, 65 bytes; throws for what is no private key. */
  publicKey: (key: Uint8Array) => Uint8Array;
  /** Low s, nonce by RFC 6979; r and s in 64 bytes. */
  sign: (hash: Uint8Array, key: Uint8Array) => { signature: Uint8Array; recid: number };
  /** The signer's public key, as above; throws for what is no signature. */
  recover: (signature: Uint8Array, recid: number, hash: Uint8Array) => Uint8Array;
};

/** The curve for systems for which libsecp256k1 is not built. The package's own fallback is another library, which has open advisories. */
export const portable: Curve = {
  publicKey: (key) => noble.getPublicKey(key, false),
  sign: (hash, key) => {
    const signature = noble.sign(hash, key);
    return { signature: signature.toCompactRawBytes(), recid: signature.recovery };
  },
  recover: (signature, recid, hash) =>
    noble.Signature.fromCompact(signature).addRecoveryBit(recid).recoverPublicKey(hash).toRawBytes(false),
};

/** Null where the package has no build for this system. */
export const native: Curve | null = (() => {
  try {
    const library = createRequire(import.meta.url)("secp256k1/bindings.js");
    return {
      publicKey: (key) => library.publicKeyCreate(key, false),
      sign: library.ecdsaSign,
      recover: (signature, recid, hash) => library.ecdsaRecover(signature, recid, hash, false),
    };
  } catch {
    return null;
  }
})();

const curve = native ?? portable;

/** Half the order of the curve: the largest "low" s. The contracts refuse signatures above it. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

const addressOf = (publicKey: Uint8Array): Address =>
  getAddress(bytesToHex(keccak256(publicKey.subarray(1)).subarray(12)));

/** An account that signs digests too. */
export type SigningAccount = LocalAccount & { sign: NonNullable<LocalAccount["sign"]> };

/** An account that signs here with `privateKey` (0x and 64 hex digits): low s, deterministic (RFC 6979). Throws for what is no private key. */
export function signingAccount(privateKey: Hex): SigningAccount {
  const key = hexToBytes(privateKey);
  const address = addressOf(curve.publicKey(key));
  const signHash = (hash: Hex): { r: Hex; s: Hex; yParity: 0 | 1 } => {
    const { signature, recid } = curve.sign(hexToBytes(hash), key);
    const yParity = (recid & 1) as 0 | 1;
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
      return serializeTransaction(unsigned, signHash(hashOfTransaction(serializeTransaction(unsigned))));
    },
  }) as SigningAccount;
}

/**
 * The address that signed `hash`; null for bytes that are no signature, or one that the contracts refuse (65 bytes, low s, v 27 or 28).
 */
export function recoverSigner(hash: Hex, signature: Hex): Address | null {
  const isForContracts = SIGNATURE.test(signature) && /1[bc]$/i.test(signature);
  if (!isForContracts || BigInt(`0x${signature.slice(66, 130)}`) > HALF_ORDER) return null;
  return recoverAnySigner(hash, signature);
}

/** The address that signed `hash`, also with a high s, or v 0 or 1, as some wallets sign; null for bytes that are no signature. */
export function recoverAnySigner(hash: Hex, signature: Hex): Address | null {
  if (!SIGNATURE.test(signature)) return null;
  const bytes = hexToBytes(signature);
  const v = bytes[64] as number;
  const recid = v < 27 ? v : v - 27;
  if (recid > 1) return null;
  try {
    return addressOf(curve.recover(bytes.subarray(0, 64), recid, hexToBytes(hash)));
  } catch {
    // r or s is zero or beyond the order of the curve: nobody's signature.
    return null;
  }
}

/** r, s and v. */
const SIGNATURE = /^0x[0-9a-fA-F]{130}$/;
