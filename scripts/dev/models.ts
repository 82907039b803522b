/** The model servers behind a local stack: found on this machine or named, and who answers for which model. */

import { type Listing, listingOf, namesByCatalogId } from "../../worker/catalog-names.ts";
import {
  findModelServers,
  LOOKED_FOR,
  type ModelServer,
  mayLook,
  readModelServer,
} from "../../worker/model-servers.ts";
import { LAUNCH_MODELS } from "../deploy/launch-models.ts";
import { messageOf, StackError } from "./files.ts";
import type { WorkerOptions } from "./services.ts";

/** What `npm start` was told: a server's base URL, and which of its models, as `catalog-id=name,…`. */
export type Asked = { backend?: string | undefined; models?: string | undefined };

/** A server with those of its models that the stack offers: catalog id → name at the server. */
export type Served = { server: ModelServer; names: ReadonlyMap<string, string> };

/** The servers to put behind the stack. Throws a StackError where one was named and cannot be used. */
export async function findServed({ backend, models }: Asked, env: NodeJS.ProcessEnv): Promise<Served[]> {
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
  const launched = LAUNCH_MODELS.map(({ id }) => id);
  return servers.flatMap((server) => {
    const names = new Map([...namesByCatalogId(server.models, launched)].filter(([id]) => !taken.has(id)));
    for (const id of names.keys()) taken.add(id);
    return names.size === 0 ? [] : { server, names };
  });
}

function chosen({ url, models }: ModelServer, list: string): Map<string, string> {
  const names = new Map<string, string>();
  for (const pair of list.split(",")) {
    const [id = "", name = id] = pair.trim().split(/=(.*)/s);
    if (id === "") continue;
    if (!models.some((one) => one.name === name)) {
      throw new StackError(
        `--models: the server at ${url} has no "${name}"; it has ${models.map((one) => one.name).join(", ")}.`,
      );
    }
    names.set(id, name);
  }
  if (names.size === 0) throw new StackError("--models names no model: use catalog-id=name-at-the-server,…");
  return names;
}

/** What the start says of them, a line each. */
export function inWords(served: readonly Served[], env: NodeJS.ProcessEnv): string[] {
  if (served.length > 0) {
    return served.map(({ server, names }) => {
      const told = [...names].map(([id, name]) => (id === name ? id : `${name} as ${id}`));
      return `${server.kind} at ${server.url} serves ${told.join(", ")}`;
    });
  }
  return mayLook(env)
    ? [
        `no model server answers on this machine (looked for ${LOOKED_FOR})`,
        "all answers are demo text, until one does and you start again",
      ]
    : ["no model server was looked for (LOOK_FOR_MODELS=no): all answers are demo text"];
}

/** The pool: generators for what no server has, then a worker for each server. */
export function poolOf(generators: readonly WorkerOptions[], served: readonly Served[]): WorkerOptions[] {
  const taken = new Set(served.flatMap(({ names }) => [...names.keys()]));
  const left = LAUNCH_MODELS.map(({ id }) => id).filter((id) => !taken.has(id));
  const workers = served.map(({ server, names }) => ({
    models: [...names.keys()],
    env: {
      WORKER_BACKEND: server.url,
      WORKER_MODELS: [...names].map(([id, name]) => `${id}=${name}`).join(","),
    },
  }));
  return [...(left.length === 0 ? [] : generators.map((one) => ({ ...one, models: left }))), ...workers];
}

/** How the catalog lists the served models that the launch catalog lacks. */
export function listingsOf(served: readonly Served[]): Listing[] {
  const launched = new Set(LAUNCH_MODELS.map(({ id }) => id as string));
  return served.flatMap(({ server, names }) =>
    [...names].flatMap(([id, name]) => {
      const model = server.models.find((one) => one.name === name);
      return model === undefined || launched.has(id) ? [] : listingOf(id, model);
    }),
  );
}
