/** Makes a running stack usable: keys, registered workers, a funded account with an API key, and `stack.json`. */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { createPublicClient, type Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { Keys } from "../../api/account/keys.ts";
import { openDatabase } from "../../api/db/pool.ts";
import { DEV_CHAIN_ID, type Deployment } from "../../protocol/deployment.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { nodeTransport } from "../../shared/node-transport.ts";
import type { StackFile } from "../../shared/stack-file.ts";
import { DEPLOYER_KEY } from "../deploy/config.ts";
import { messageOf, readJson, writeJson } from "./files.ts";
import { outsideFolder } from "./postgres.ts";
import type { Context, Secrets, WorkerEntry } from "./services.ts";
import { provideCredits } from "./wallets.ts";

const DEMO_CREDITS = 10_000;
/** A gateway looks for new workers once a second and asks each how it is; one that rests after a failure may take longer. */
const ROUTING_SECONDS = 20;

/** A worker that joins beside the stack listens so many ports behind the stack's first. */
const JOINED_FROM = 10;

/** Made once for a data folder and kept in it, readable by its owner only. */
type DemoAccount = NonNullable<StackFile["demo"]>;

const secretsFile = (dataDir: string): string => join(dataDir, "secrets.json");

/** Reads the secrets, making those that are still missing. */
export function loadSecrets(dataDir: string, workers: number): Secrets {
  const known = readJson<Secrets>(secretsFile(dataDir));
  // A data folder that was deleted and begun anew: nobody knows the password of its old database.
  if (known === null) rmSync(outsideFolder(dataDir), { recursive: true, force: true });
  const privateKey = (): Hex => `0x${randomBytes(32).toString("hex")}`;
  const secrets = known ?? {
    masterKey: randomBytes(32).toString("hex"),
    postgresPassword: randomBytes(18).toString("hex"),
    demoPrivateKey: privateKey(),
    workerKeys: [],
  };
  while (secrets.workerKeys.length < workers) secrets.workerKeys.push(privateKey());
  writeJson(secretsFile(dataDir), secrets);
  return secrets;
}

/** Makes sure that there is a funded account with a key to try things out with. */
export async function ensureDemo(
  { options, secrets, urls }: Context,
  { contracts }: Deployment,
  databaseUrl: string,
): Promise<DemoAccount> {
  const owner = privateKeyToAccount(secrets.demoPrivateKey);
  const wallet = owner.address;
  const escrow = { address: contracts.InferenceEscrow, abi: inferenceEscrowAbi } as const;
  const client = createPublicClient({ transport: nodeTransport(urls.rpc) });
  const account = await client.readContract({ ...escrow, functionName: "accountOf", args: [wallet] });
  if (account.id === 0) {
    const funder = privateKeyToAccount(DEPLOYER_KEY);
    await provideCredits({ rpc_url: urls.rpc, contracts }, { funder, owner, credits: DEMO_CREDITS });
  }
  const pool = openDatabase(databaseUrl, pino({ level: "silent" }), 1);
  try {
    const keys = new Keys(pool);
    const known = secrets.demoApiKey;
    const isValid = known !== undefined && (await keys.owner(known))?.wallet === wallet.toLowerCase();
    const apiKey = isValid ? known : await keys.regenerate(wallet);
    writeJson(secretsFile(options.dataDir), { ...secrets, demoApiKey: apiKey });
    return { wallet, private_key: secrets.demoPrivateKey, api_key: apiKey };
  } finally {
    await pool.end();
  }
}

/**
 * Waits until the gateway offers every model of the started workers through all of them: only then the first request finds one. Workers
 * that stay away do not stop the start, for the gateway serves what it has; the line says which models wait.
 */
export async function awaitRouting(
  { parts, urls, options }: Context,
  workers: readonly WorkerEntry[],
  apiKey: string,
): Promise<string> {
  const wanted = new Map<string, number>();
  for (const model of workers.flatMap(({ models }) => models)) wanted.set(model, (wanted.get(model) ?? 0) + 1);
  for (const deadline = Date.now() + (options.routingSeconds ?? ROUTING_SECONDS) * 1000; ; await sleep(100)) {
    const missing = await missingModels(urls.api, apiKey, wanted);
    if (missing.length === 0) return `${wanted.size} models answered for`;
    if (parts.abort.aborted || Date.now() > deadline)
      return `not all workers answer the gateway: ${missing.join(", ")}`;
  }
}

async function missingModels(api: string, apiKey: string, wanted: Map<string, number>): Promise<string[]> {
  if (wanted.size === 0) return [];
  type Listed = { id: string; service: { active_workers: number } };
  try {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${api}/v1/models`, { headers, signal: AbortSignal.timeout(5_000) });
    if (response.status !== 200) return [`GET /v1/models answers ${response.status}`];
    const { data } = (await response.json()) as { data: Listed[] };
    const found = (model: string): number => data.find(({ id }) => id === model)?.service.active_workers ?? 0;
    const fewer = [...wanted].filter(([model, count]) => found(model) < count);
    const served = fewer.length === 0 ? new Set() : await servedModels(api);
    const short = fewer.filter(([model]) => !served.has(model));
    return short.map(([model, count]) => `${model} has ${found(model)} of ${count}`);
  } catch (error) {
    return [`GET /v1/models fails (${messageOf(error)})`];
  }
}

/** Models for which a real one answers: a worker that joined earlier may run on, and the generators then leave its models to it. */
async function servedModels(api: string): Promise<Set<string>> {
  type Shown = { id: string; active_workers: number; demo: boolean };
  const response = await fetch(`${api}/app/api/models`, { signal: AbortSignal.timeout(5_000) });
  const { data } = (await response.json()) as { data: Shown[] };
  return new Set(data.filter(({ active_workers, demo }) => active_workers > 0 && !demo).map(({ id }) => id));
}

export function writeStackFile(
  { options, urls, deploymentFile }: Context,
  { databaseUrl, deployment, demo }: { databaseUrl: string; deployment: Deployment | null; demo: DemoAccount | null },
): StackFile {
  const file: StackFile = {
    base_url: urls.api,
    app_url: `${urls.api}/app`,
    rpc_url: urls.rpc,
    chain_id: DEV_CHAIN_ID,
    database_url: databaseUrl,
    deployment_file: deploymentFile,
    contracts: deployment?.contracts ?? {},
    // The next start may have more workers of its own, while one that joined runs on.
    worker_port: options.ports.worker + Math.max(JOINED_FROM, options.workers.length),
    demo,
  };
  writeJson(join(options.dataDir, "stack.json"), file);
  return file;
}

/** The README's model, which a generator answers where no model server does. */
const README_MODEL = "qwen3-8b";

/** A request that works as pasted: the README's, or for the first model that a model server serves. */
export function curlCommand({ base_url, demo }: StackFile, model = README_MODEL): string {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Say hello." }] });
  return `curl -sS ${base_url}/v1/chat/completions -H 'Authorization: Bearer ${demo?.api_key}' -H 'Content-Type: application/json' -d '${body}'`;
}
