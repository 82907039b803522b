/** The worker's signing key: in an encrypted file, or given openly; and what is signed and checked with it. */
import { createCipheriv, createDecipheriv, randomBytes, randomUUID, scrypt, timingSafeEqual } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  type Address,
  bytesToHex,
  getAddress,
  type Hex,
  hashTypedData,
  hexToBytes,
  isAddressEqual,
  keccak256,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import { DEV_CHAIN_ID, type Deployment } from "../protocol/deployment.ts";
import type { JobDigests } from "../protocol/digests.ts";
import { outputAccessTypes } from "../protocol/dispatch.ts";
import { type Assignment, type Completion, escrowDomain } from "../protocol/messages.ts";
import { jobDigests } from "../shared/keccak.ts";
import { recoverSigner, type SigningAccount, signingAccount } from "../shared/secp256k1.ts";
import type { Config } from "./config.ts";
import { ConfigError, type Terminal } from "./console.ts";

const bytes = (length: number) => z.string().regex(new RegExp(`^[0-9a-fA-F]{${2 * length}}$`));
const whole = (min: number, max: number) => z.number().int().min(min).max(max);
/**
 * A private key encrypted with a passphrase, in the format of wallets and nodes (Web3 Secret Storage, version 3).
 * geth, Foundry and ethers open such a file, and one of theirs can be put in its place.
 */
const keystoreSchema = z.object({
  version: z.literal(3),
  id: z.string().optional(),
  address: z.string().regex(/^(0x)?[0-9a-fA-F]{40}$/),
  crypto: z.object({
    cipher: z.literal("aes-128-ctr"),
    cipherparams: z.object({ iv: bytes(16) }),
    ciphertext: bytes(32),
    kdf: z.literal("scrypt"),
    // Bounded: the file names how much memory its reader takes.
    kdfparams: z.object({
      dklen: z.literal(32),
      n: whole(2, 2 ** 20),
      r: whole(1, 16),
      p: whole(1, 16),
      salt: z.string().regex(/^[0-9a-fA-F]{2,128}$/),
    }),
    mac: bytes(32),
  }),
});
type Keystore = z.infer<typeof keystoreSchema>;

/** About a quarter of a second and 128 MB for each guess. */
const COST = { n: 2 ** 17, r: 8, p: 1 };

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt);

/** Encrypts a private key. */
export async function encryptKey(privateKey: Hex, passphrase: string): Promise<Keystore> {
  const iv = randomBytes(16);
  const kdfparams = { dklen: 32 as const, ...COST, salt: randomBytes(32).toString("hex") };
  const derived = await deriveKey(passphrase, kdfparams);
  const cipher = createCipheriv("aes-128-ctr", derived.subarray(0, 16), iv);
  const ciphertext = Buffer.concat([cipher.update(hexToBytes(privateKey)), cipher.final()]);
  return {
    version: 3,
    id: randomUUID(),
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
  // ethers writes "Crypto", geth and Foundry "crypto".
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

type KeyConfig = Pick<Config, "privateKey" | "passphrase" | "dataDir">;

const SHORTEST_PASSPHRASE = 8;
const INSTEAD = "WORKER_PASSPHRASE, or --passphrase-file FILE";
const fileOf = (dataDir: string): string => join(dataDir, "keystore.json");

/** Encrypts the keys of workers on development chains, where nothing is worth anything; the same file format then serves everywhere. */
const DEVELOPMENT_PASSPHRASE = "local development";

/**
 * The signing key: given openly, or decrypted from the data folder, where the first start puts a new one. On a development chain a passphrase
 * can be given and is not asked for.
 */
export async function openWorkerKey(config: KeyConfig, terminal: Terminal, chainId?: number): Promise<Hex> {
  if (config.privateKey !== null) return config.privateKey;
  const keystore = readKeystore(config.dataDir);
  const given = givenPassphrase(config.passphrase);
  if (chainId === DEV_CHAIN_ID && given === null) {
    if (keystore === null) return createKey(config.dataDir, DEVELOPMENT_PASSPHRASE, terminal);
    const key = await decryptKey(keystore, DEVELOPMENT_PASSPHRASE).catch(() => null);
    if (key !== null) return key;
  }
  if (keystore === null) {
    const passphrase = given ?? (await newPassphrase(fileOf(config.dataDir), terminal));
    return createKey(config.dataDir, passphrase, terminal);
  }
  const passphrase = given ?? (await terminal.askHidden(`Passphrase of ${addressOf(keystore)}:`, INSTEAD));
  return decryptKey(keystore, passphrase);
}

/** The worker's address, without its passphrase; null before the first start. */
export function workerAddress({ privateKey, dataDir }: KeyConfig): Address | null {
  if (privateKey !== null) return privateKeyToAccount(privateKey).address;
  const keystore = readKeystore(dataDir);
  return keystore === null ? null : addressOf(keystore);
}

async function createKey(dataDir: string, secret: string, terminal: Terminal): Promise<Hex> {
  const file = fileOf(dataDir);
  if (secret.length < SHORTEST_PASSPHRASE) {
    throw new ConfigError(`the passphrase needs at least ${SHORTEST_PASSPHRASE} characters, it has ${secret.length}`);
  }
  const privateKey = generatePrivateKey();
  const keystore = await encryptKey(privateKey, secret);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  // Never over an existing key: it may hold stake.
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(keystore, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  terminal.say(
    `Created the worker's key ${addressOf(keystore)} in ${file}. Back it up: without it stake and pay are lost.`,
  );
  return privateKey;
}

async function newPassphrase(file: string, terminal: Terminal): Promise<string> {
  const question = `New key in ${file}. Choose a passphrase (${SHORTEST_PASSPHRASE} characters or more):`;
  const first = await terminal.askHidden(question, INSTEAD);
  const second = await terminal.askHidden("Once more:", INSTEAD);
  if (first !== second) throw new ConfigError("the two passphrases differ: start again");
  return first;
}

function givenPassphrase({ text, file }: Config["passphrase"]): string | null {
  if (text !== null) return text;
  if (file === null) return null;
  try {
    // An editor ends the file with a newline that nobody typed.
    return readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    throw new ConfigError(`cannot read the passphrase file ${file}: ${(error as Error).message}`);
  }
}

function readKeystore(dataDir: string): Keystore | null {
  const file = fileOf(dataDir);
  return existsSync(file) ? parseKeystore(readFileSync(file, "utf8"), file) : null;
}

/** Signs for the worker, and tells who signed for a gateway. */
export class Identity {
  readonly account: SigningAccount;
  readonly #domain: ReturnType<typeof escrowDomain>;
  readonly #digests: JobDigests;

  constructor(privateKey: Hex, { chainId, contracts }: Deployment) {
    this.account = signingAccount(privateKey);
    this.#domain = escrowDomain(chainId, contracts.InferenceEscrow);
    this.#digests = jobDigests(chainId, contracts.InferenceEscrow);
  }

  /** The worker's address on chain. */
  get address(): Address {
    return this.account.address;
  }

  /** True if the address is this worker's. */
  is(address: Address): boolean {
    return isAddressEqual(address, this.address);
  }

  /** Signs that the worker takes a job. */
  signAcknowledgement(jobId: Hex, attempt: number): Promise<Hex> {
    return this.account.sign({ hash: this.#digests.acknowledgement({ jobId, attempt }) });
  }

  /** Signs what was answered. The caller asks once a job, and stores the Completion before the signature goes anywhere. */
  signCompletion(message: Completion): Promise<Hex> {
    return this.account.sign({ hash: this.#digests.completion(message) });
  }

  /** The signer of an Assignment; null for a signature that the contracts refuse, with which the worker is not paid. */
  recoverAssignment(message: Assignment, signature: Hex): Address | null {
    return recoverSigner(this.#digests.assignment(message), signature);
  }

  /** The address that signed for access to an output of this worker; null for a malformed signature. */
  recoverAccess(jobId: Hex, { expiresAt, signature }: { expiresAt: number; signature: Hex }): Address | null {
    const message = { jobId, worker: this.address, expiresAt };
    const data = { domain: this.#domain, types: outputAccessTypes, primaryType: "OutputAccess", message } as const;
    return recoverSigner(hashTypedData(data), signature);
  }
}
