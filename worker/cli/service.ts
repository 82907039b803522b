/** `--service`: a worker learns from the service what it would else be told, and keeps it. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { parseDeployment } from "../../protocol/deployment.ts";
import { ConfigError, type Terminal } from "../console.ts";

const TIMEOUT_MS = 10_000;
const settings = z.object({ rpc_url: z.url().nullable() });

/**
 * Adds the service's contracts and public node to the settings, unless they are set. The contracts are kept in the data folder at the first
 * start: a service that names others later cannot move the worker's stake. Throws a ConfigError.
 */
export async function withService(values: Record<string, string>, terminal: Terminal): Promise<Record<string, string>> {
  const { WORKER_SERVICE: service, WORKER_DATA_DIR: folder = ".worker" } = values;
  if (service === undefined) return values;
  if (!URL.canParse(service)) throw new ConfigError(`--service ${service} is not a URL`);
  // Somebody who can change the answer on its way could name a registry of their own.
  if (!isSafe(service)) {
    throw new ConfigError(`--service ${service} must be https: the contracts that get your stake come from it`);
  }
  const added: Record<string, string> = {};
  if (values["DEPLOYMENT_FILE"] === undefined) {
    const file = join(folder, "deployment.json");
    if (!existsSync(file)) {
      const read = (text: string) => ({ text, ...parseDeployment(text, "it") });
      const { text, chainId, contracts } = await ask(service, "deployment.json", read);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFile(file, text, { mode: 0o600 });
      terminal.say(
        `Kept the contracts of ${service} in ${file}: escrow ${contracts.InferenceEscrow}, registry ${contracts.WorkerRegistry}, ` +
          `chain ${chainId}. Compare them with what the service publishes elsewhere: your stake goes there.`,
      );
    }
    added["DEPLOYMENT_FILE"] = file;
  }
  if (values["RPC_URL"] === undefined) {
    const { rpc_url: node } = await ask(service, "config", (text) => settings.parse(JSON.parse(text)));
    if (node === null) throw new ConfigError(`--rpc-url (RPC_URL) is needed: ${service} names no public node`);
    if (!isSafe(node)) {
      throw new ConfigError(`--rpc-url (RPC_URL) is needed: the node that ${service} names is not https`);
    }
    terminal.say(`Asking the node that the service names, ${new URL(node).host}. Name your own with --rpc-url.`);
    added["RPC_URL"] = node;
  }
  return { ...values, ...added };
}

/** True if nobody between here and the address can change its answers. */
function isSafe(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || ["127.0.0.1", "localhost", "[::1]"].includes(hostname);
}

/** Asks the service and returns what `read` makes of the answer. Throws a ConfigError that names the URL. */
async function ask<T>(service: string, what: string, read: (text: string) => T): Promise<T> {
  const url = new URL(`/app/api/${what}`, service);
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: "error" });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    return read(await response.text());
  } catch (error) {
    throw new ConfigError(`--service: cannot read ${url}: ${error instanceof Error ? error.message : error}`);
  }
}
