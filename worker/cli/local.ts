/** A worker beside a local stack (`npm start`): what it serves where its settings leave that open. */
import { DEV_CHAIN_ID } from "../../protocol/deployment.ts";
import { readStackFile } from "../../shared/stack-file.ts";
import { listingOf, namesByCatalogId, namesText, parseNames, servesInWords, wantedNames } from "../catalog-names.ts";
import { type Chain, connectChain, readCatalog } from "../chain.ts";
import type { Config } from "../config.ts";
import { ConfigError, type Terminal } from "../console.ts";
import { listModels } from "../development.ts";
import { findModelServers, type ModelServer, mayLook, NONE_ANSWERS, readModelServer } from "../model-servers.ts";

type Values = Record<string, string>;

/**
 * Adds the model server and its models to the settings, as far as these do not name them. A server is looked for on this machine only, and
 * only beside a local stack. Throws a ConfigError.
 */
export async function withModelServer(values: Values, env: NodeJS.ProcessEnv, terminal: Terminal): Promise<Values> {
  const { WORKER_BACKEND: backend, WORKER_MODELS: models, WORKER_SERVICE: service, DEPLOYMENT_FILE: named } = values;
  if (backend === "builtin" || (backend !== undefined && models !== undefined)) return values;
  const stack = service === undefined && named === undefined ? readStackFile(values).stack : null;
  if (stack?.chain_id !== DEV_CHAIN_ID || stack.rpc_url === undefined || stack.deployment_file === undefined)
    return values;
  const place = { rpcUrl: values["RPC_URL"] ?? stack.rpc_url, deploymentFile: stack.deployment_file };
  const catalog = [...(await readCatalog(await connectChain(place, null))).keys()];

  const servers = backend === undefined ? await lookAround(env) : [await read(backend, values["WORKER_BACKEND_KEY"])];
  const [server, names] = choose(servers, catalog, models) ?? [];
  if (server === undefined || names === undefined) {
    if (models === undefined) {
      throw new ConfigError(`${NONE_ANSWERS}: start one, or name it with --backend URL`);
    }
    terminal.say(`No model server on this machine serves ${models}: the built-in generator answers with demo text.`);
    return values;
  }
  terminal.say(`${servesInWords(server, names)}.`);
  const others = servers.filter((one) => one !== server).map(({ kind, url }) => `${kind} at ${url}`);
  if (others.length > 0) {
    terminal.say(
      `Not joined: ${others.join(", ")}. Each needs a worker with its own --backend, --data-dir and --port.`,
    );
  }
  return { ...values, WORKER_BACKEND: server.url, WORKER_MODELS: namesText(names) };
}

const lookAround = (env: NodeJS.ProcessEnv) => (mayLook(env) ? findModelServers() : []);

async function read(backend: string, key: string | undefined): Promise<ModelServer> {
  try {
    return await readModelServer(backend, key ?? null);
  } catch (error) {
    throw new ConfigError((error as Error).message);
  }
}

/** The first server that serves the wanted models (`a,b=name`), or any; with their names there, by catalog id. */
function choose(
  servers: readonly ModelServer[],
  catalog: readonly string[],
  wanted: string | undefined,
): [ModelServer, Map<string, string>] | null {
  for (const server of servers) {
    if (wanted === undefined) return [server, namesByCatalogId(server.models, catalog)];
    const { names, missing } = wantedNames(parseNames(wanted), server.models, catalog);
    if (missing.length === 0) return [server, names];
  }
  return null;
}

/** On a development chain: lists those of the worker's models that the catalog lacks and its model server serves. */
export async function listServed(
  chain: Chain,
  { backend, models }: Pick<Config, "backend" | "models">,
  catalog: ReadonlyMap<string, number>,
  terminal: Terminal,
): Promise<boolean> {
  const missing = [...models].filter(([id]) => !catalog.has(id));
  if (missing.length === 0 || chain.deployment.chainId !== DEV_CHAIN_ID || backend.kind !== "openai") return false;
  const server = await readModelServer(backend.url, backend.key).catch(() => null);
  const listings = missing.flatMap(([id, name]) => {
    const model = server?.models.find((one) => one.name === name);
    return model === undefined ? [] : listingOf(id, model);
  });
  if (listings.length === 0) return false;
  await listModels(chain, listings);
  terminal.say(`development chain: listed ${listings.map(({ id }) => id).join(", ")}`);
  return true;
}
