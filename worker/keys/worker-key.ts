import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { Address, Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { Terminal } from "../cli/terminal.ts";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../errors.ts";
import { addressOf, decryptKey, encryptKey, type Keystore, parseKeystore } from "./keystore.ts";

type KeyConfig = Pick<Config, "privateKey" | "passphrase" | "dataDir">;

const SHORTEST = 8;
const INSTEAD = "WORKER_PASSPHRASE, or --passphrase-file FILE";
const fileOf = (dataDir: string): string => join(dataDir, "keystore.json");

/** The signing key: given openly, or decrypted from the data folder, where the first start puts a new one. */
export async function openWorkerKey(config: KeyConfig, terminal: Terminal): Promise<Hex> {
  if (config.privateKey !== null) return config.privateKey;
  const keystore = readKeystore(config.dataDir);
  if (keystore === null) return createKey(config, terminal);
  const given = givenPassphrase(config.passphrase);
  const passphrase = given ?? (await terminal.askHidden(`Passphrase of ${addressOf(keystore)}:`, INSTEAD));
  return decryptKey(keystore, passphrase);
}

/** The worker's address, without its passphrase; null before the first start. */
export function workerAddress({ privateKey, dataDir }: KeyConfig): Address | null {
  if (privateKey !== null) return privateKeyToAccount(privateKey).address;
  const keystore = readKeystore(dataDir);
  return keystore === null ? null : addressOf(keystore);
}

async function createKey({ passphrase, dataDir }: KeyConfig, terminal: Terminal): Promise<Hex> {
  const file = fileOf(dataDir);
  const secret = givenPassphrase(passphrase) ?? (await newPassphrase(file, terminal));
  if (secret.length < SHORTEST) throw new ConfigError(`the passphrase needs at least ${SHORTEST} characters`);
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
  await chmod(file, 0o600);
  terminal.say(
    `Created the worker's key ${addressOf(keystore)} in ${file}. Back it up: without it stake and pay are lost.`,
  );
  return privateKey;
}

async function newPassphrase(file: string, terminal: Terminal): Promise<string> {
  const first = await terminal.askHidden(
    `New key in ${file}. Choose a passphrase (${SHORTEST} characters or more):`,
    INSTEAD,
  );
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
