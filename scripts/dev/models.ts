/** The model servers behind a local stack: found on this machine or named, and who answers for which model. */

import {
  type Listing,
  listingOf,
  namesByCatalogId,
  namesText,
  parseNames,
  servesInWords,
  wantedNames,
} from "../../worker/catalog-names.ts";
import {
  findModelServers,
  type ModelServer,
  mayLook,
  NONE_ANSWERS,
  readModelServer,
} from "../../worker/model-servers.ts";
import { LAUNCH_MODELS } from "../deploy/launch-models.ts";
import { messageOf, StackError } from "./files.ts";
import type { WorkerOptions } from "./services.ts";

/** The model options of `npm start`: a server's base URL, and which of its models, as `catalog-id=name,…`. */
export type ModelOptions = { backend?: string | undefined; models?: string | undefined };

/** A server with those of its models that the stack offers: catalog id → name at the server. */
export type Served = { server: ModelServer; names: ReadonlyMap<string, string> };

/** Ids of the launch catalog. */
const LAUNCHED: readonly string[] = LAUNCH_MODELS.map(({ id }) => id);

/** The servers to put behind the stack. Throws a StackError where one was named and cannot be used. */
export async function findServed({ backend, models }: ModelOptions, env: NodeJS.ProcessEnv): Promise<Served[]> {
  if (backend === undefined) {
    if (models !== undefined) throw new StackError("--models needs --backend URL, the server that has them.");
    return mayLook(env) ? shareOut(await findModelServers()) : [];
  }
  let server: ModelServer;
  try {
    server = await readModelServer(backend, env["WORKER_BACKEND_KEY"] || null);
  } catch (error) {
    throw new StackError(`--backend ${backend}: ${messageOf(error)}`);
  }
  return models === undefined ? shareOut([server]) : [{ server, names: chosen(server, models) }];
}

/** Each server's models by catalog id; a model that two servers have is the first one's. */
export function shareOut(servers: readonly ModelServer[]): Served[] {
  const taken = new Set<string>();
  return servers.flatMap((server) => {
    const names = new Map([...namesByCatalogId(server.models, LAUNCHED)].filter(([id]) => !taken.has(id)));
    for (const id of names.keys()) taken.add(id);
    return names.size === 0 ? [] : { server, names };
  });
}

function chosen({ url, models }: ModelServer, list: string): Map<string, string> {
  const wanted = parseNames(list);
  if (wanted.size === 0) throw new StackError("--models names no model: use catalog-id=name-at-the-server,…");
  const { names, missing } = wantedNames(wanted, models, LAUNCHED);
  if (missing.length === 0) return names;
  const served = models.map(({ name }) => name).join(", ");
  throw new StackError(`--models: the server at ${url} has no "${missing.join('", "')}"; it has ${served}.`);
}

/** The lines that the start prints about the served models. */
export function inWords(served: readonly Served[], env: NodeJS.ProcessEnv): string[] {
  if (served.length > 0) return served.map(({ server, names }) => servesInWords(server, names));
  return mayLook(env)
    ? [NONE_ANSWERS, "all answers are demo text, until one does and you start again"]
    : ["no model server was looked for (LOOK_FOR_MODELS=no): all answers are demo text"];
}

/** The pool: generators for what no server has, then a worker for each server. */
export function poolOf(generators: readonly WorkerOptions[], served: readonly Served[]): WorkerOptions[] {
  const taken = new Set(served.flatMap(({ names }) => [...names.keys()]));
  const left = LAUNCHED.filter((id) => !taken.has(id));
  const workers = served.map(({ server, names }) => ({
    models: [...names.keys()],
    env: {
      WORKER_BACKEND: server.url,
      WORKER_MODELS: namesText(names),
    },
  }));
  return [...(left.length === 0 ? [] : generators.map((one) => ({ ...one, models: left }))), ...workers];
}

/** The catalog entries of served models that the launch catalog lacks. */
export function listingsOf(served: readonly Served[]): Listing[] {
  return served.flatMap(({ server, names }) =>
    [...names].flatMap(([id, name]) => {
      const model = server.models.find((one) => one.name === name);
      return model === undefined || LAUNCHED.includes(id) ? [] : listingOf(id, model);
    }),
  );
}
