import { createRequire } from "node:module";
import * as wasm from "tiny-secp256k1";

/** A signature (r and s, 64 bytes) with the parity bits that recovery needs. */
export type Recoverable = { signature: Uint8Array; recoveryId: number };

/** The same C library twice: compiled for this machine where the package brings that, as WebAssembly (a third as fast) elsewhere. */
type Library = {
  /** Low s, nonce by RFC 6979. */
  signRecoverable: (hash: Uint8Array, key: Uint8Array) => Recoverable;
  /** The uncompressed public key; null or an error for what is no signature. */
  recoverPoint: (hash: Uint8Array, signature: Uint8Array, recoveryId: 0 | 1) => Uint8Array | null;
};

type Native = {
  ecdsaSign: (hash: Uint8Array, key: Uint8Array) => { signature: Uint8Array; recid: number };
  ecdsaRecover: (signature: Uint8Array, recid: number, hash: Uint8Array, compressed: boolean) => Uint8Array;
};

/** Null where the package has no build for this system. Its own entry would fall back to slow JavaScript, which is not wanted. */
function native(): Library | null {
  let library: Native;
  try {
    library = createRequire(import.meta.url)("secp256k1/bindings.js") as Native;
  } catch {
    return null;
  }
  return {
    signRecoverable: (hash, key) => {
      const { signature, recid } = library.ecdsaSign(hash, key);
      return { signature, recoveryId: recid };
    },
    recoverPoint: (hash, signature, recoveryId) => library.ecdsaRecover(signature, recoveryId, hash, false),
  };
}

export const webAssembly: Library = {
  signRecoverable: (hash, key) => wasm.signRecoverable(hash, key),
  recoverPoint: (hash, signature, recoveryId) => wasm.recover(hash, signature, recoveryId, false),
};

export const compiled: Library | null = native();

export const { signRecoverable, recoverPoint } = compiled ?? webAssembly;
