import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readJson, writeJson } from "./files.ts";

/** Made once for a data folder and kept in it, readable by its owner only. */
export type Secrets = {
  /** Encrypts answers and webhook secrets in the gateway's tables: losing it loses those. */
  masterKey: string;
  postgresPassword: string;
  workerKeys: `0x${string}`[];
  demoPrivateKey: `0x${string}`;
  demoApiKey?: string;
};

const fileOf = (dataDir: string): string => join(dataDir, "secrets.json");
const privateKey = (): `0x${string}` => `0x${randomBytes(32).toString("hex")}`;

/** Reads the secrets, making those that are still missing. */
export function loadSecrets(dataDir: string, workers: number): Secrets {
  const known: Partial<Secrets> = readJson<Partial<Secrets>>(fileOf(dataDir)) ?? {};
  const workerKeys = [...(known.workerKeys ?? [])];
  while (workerKeys.length < workers) workerKeys.push(privateKey());
  const secrets: Secrets = {
    masterKey: known.masterKey ?? randomBytes(32).toString("hex"),
    postgresPassword: known.postgresPassword ?? randomBytes(18).toString("hex"),
    demoPrivateKey: known.demoPrivateKey ?? privateKey(),
    ...(known.demoApiKey === undefined ? {} : { demoApiKey: known.demoApiKey }),
    workerKeys,
  };
  writeJson(fileOf(dataDir), secrets);
  return secrets;
}

export function keepDemoKey(dataDir: string, demoApiKey: string): void {
  writeJson(fileOf(dataDir), { ...readJson<Secrets>(fileOf(dataDir)), demoApiKey });
}
