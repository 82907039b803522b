import { createCipheriv, createDecipheriv, randomBytes, randomUUID, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { type Address, bytesToHex, getAddress, type Hex, hexToBytes, keccak256 } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import { ConfigError } from "../errors.ts";

/**
 * A private key encrypted with a passphrase, in the format that wallets and nodes share (Web3 Secret Storage, version 3): such a file can be opened by
 * geth, Foundry or ethers, and one of theirs can be put in its place.
 */
const bytes = (length: number) => z.string().regex(new RegExp(`^[0-9a-fA-F]{${2 * length}}$`));
const keystoreSchema = z.object({
  version: z.literal(3),
  address: z.string().regex(/^(0x)?[0-9a-fA-F]{40}$/),
  crypto: z.object({
    cipher: z.literal("aes-128-ctr"),
    cipherparams: z.object({ iv: bytes(16) }),
    ciphertext: bytes(32),
    kdf: z.literal("scrypt"),
    // Bounded: the file names how much memory its reader takes.
    kdfparams: z.object({
      dklen: z.literal(32),
      n: z
        .number()
        .int()
        .min(2)
        .max(2 ** 20),
      r: z.number().int().min(1).max(16),
      p: z.number().int().min(1).max(16),
      salt: z.string().regex(/^[0-9a-fA-F]{2,128}$/),
    }),
    mac: bytes(32),
  }),
});
export type Keystore = z.infer<typeof keystoreSchema>;

/** About a quarter of a second and 128 MB for each guess. */
const COST = { n: 2 ** 17, r: 8, p: 1 };

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt);

/** Encrypts a private key. */
export async function encryptKey(privateKey: Hex, passphrase: string): Promise<Keystore> {
  const salt = randomBytes(32);
  const iv = randomBytes(16);
  const kdfparams = { dklen: 32 as const, ...COST, salt: salt.toString("hex") };
  const derived = await deriveKey(passphrase, kdfparams);
  const cipher = createCipheriv("aes-128-ctr", derived.subarray(0, 16), iv);
  const ciphertext = Buffer.concat([cipher.update(hexToBytes(privateKey)), cipher.final()]);
  return {
    version: 3,
    ...{ id: randomUUID() },
    address: privateKeyToAccount(privateKey).address.slice(2).toLowerCase(),
    crypto: {
      cipher: "aes-128-ctr",
      cipherparams: { iv: iv.toString("hex") },
      ciphertext: ciphertext.toString("hex"),
      kdf: "scrypt",
      kdfparams,
      mac: macOf(derived, ciphertext).toString("hex"),
    },
  };
}

/** Decrypts a keystore. Throws a ConfigError for a wrong passphrase. */
export async function decryptKey({ crypto }: Keystore, passphrase: string): Promise<Hex> {
  const derived = await deriveKey(passphrase, crypto.kdfparams);
  const ciphertext = Buffer.from(crypto.ciphertext, "hex");
  if (!timingSafeEqual(macOf(derived, ciphertext), Buffer.from(crypto.mac, "hex"))) {
    throw new ConfigError("wrong passphrase for the worker's key");
  }
  const iv = Buffer.from(crypto.cipherparams.iv, "hex");
  const decipher = createDecipheriv("aes-128-ctr", derived.subarray(0, 16), iv);
  return bytesToHex(Buffer.concat([decipher.update(ciphertext), decipher.final()]));
}

/** Reads a keystore's text. Throws a ConfigError that names the file and quotes nothing. */
export function parseKeystore(text: string, file: string): Keystore {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ConfigError(`${file} is not JSON: restore the worker's key from your backup`);
  }
  // ethers writes "Crypto", geth and Foundry "crypto"; both are in use.
  const { Crypto: capital, ...rest } = Object(value) as Record<string, unknown>;
  const result = keystoreSchema.safeParse(capital === undefined ? rest : { ...rest, crypto: capital });
  if (result.success) return result.data;
  const fields = result.error.issues.map((issue) => issue.path.join("."));
  throw new ConfigError(`${file} is not a version 3 keystore with scrypt (wrong: ${fields.join(", ")})`);
}

/** Address of a keystore, which is not secret. */
export function addressOf({ address }: Keystore): Address {
  return getAddress(address.startsWith("0x") ? address : `0x${address}`);
}

function deriveKey(passphrase: string, { n, r, p, salt }: Keystore["crypto"]["kdfparams"]): Promise<Buffer> {
  const options = { N: n, r, p, maxmem: 256 * n * r };
  return derive(passphrase.normalize("NFKC"), Buffer.from(salt, "hex"), 32, options);
}

function macOf(derived: Buffer, ciphertext: Buffer): Buffer {
  return Buffer.from(keccak256(Buffer.concat([derived.subarray(16, 32), ciphertext])).slice(2), "hex");
}
