/**
 * Model servers as people run them: which of them answers at an address, and what it says of its models.
 *
 * Built from llama.cpp b11669 (`meta` in `/v1/models`; `/props` where it is missing), vLLM (`max_model_len` of its model cards), Ollama
 * (docs/api.md: `/api/tags`, `/api/show`) and LM Studio (REST API v0: `/api/v0/models`). Other servers have at least `/v1/models`.
 */
import { z } from "zod";
import { BodyTooLarge, readBounded } from "../shared/bounded-body.ts";

/** A model as its server describes it; null is what the server does not tell. */
export type ServedModel = { name: string; parameters: number | null; context: number | null };
export type ModelServer = { kind: string; url: string; models: ServedModel[] };

/** The port on which each kind of server listens unless it is told otherwise. */
const USUAL_PLACES = [
  ["Ollama", 11_434],
  ["llama-server", 8080],
  ["vLLM", 8000],
  ["LM Studio", 1234],
] as const;

const PLACES = USUAL_PLACES.map(([kind, port]) => `${kind} on port ${port}`).join(", ");
/** The message if no server was found. */
export const NONE_ANSWERS = `no model server answers on this machine (looked for ${PLACES})`;

/** A server on this machine answers within milliseconds, unless it is loading a model. */
const LOOK_MS = 1_500;
const NAMED_MS = 10_000;
/** Read of a reply, and of its models. Ollama is asked for so many models at once. */
const LIST_BYTES = 16 * 1024 * 1024;
const MOST_MODELS = 1_000;
const SHOWN_AT_ONCE = 8;

/** `LOOK_FOR_MODELS=no` is for tests and continuous integration, whose result must not depend on what else runs on the machine. */
export const mayLook = (env: NodeJS.ProcessEnv): boolean => env["LOOK_FOR_MODELS"] !== "no";

/** The model servers that answer at their usual ports of this machine. */
export async function findModelServers(): Promise<ModelServer[]> {
  const urls = USUAL_PLACES.map(([, port]) => `http://127.0.0.1:${port}/v1`);
  const looks = await Promise.all(urls.map((url) => describe(url, ask(null, LOOK_MS)).catch(() => null)));
  return looks.filter((server) => server !== null && server.models.length > 0) as ModelServer[];
}

/** The model server at a base URL. Throws an Error that says in a sentence what is wrong with it. */
export async function readModelServer(given: string, key: string | null): Promise<ModelServer> {
  const url = baseUrlOf(given);
  let server: ModelServer | null;
  try {
    server = await describe(url, ask(key, NAMED_MS));
  } catch (error) {
    const { message, cause } = error as Error & { cause?: { code?: string } };
    throw new Error(
      `no model server answers at ${url} (${cause?.code ?? message}): is it running, and is that its address?`,
    );
  }
  if (server === null)
    throw new Error(`${url}/models is no list of models: is that the base URL of an OpenAI-compatible server?`);
  if (server.models.length === 0)
    throw new Error(`the model server at ${url} serves no model: load one, then start again`);
  return server;
}

/** The base URL of a server's OpenAI-compatible routes. People name a server by its host and port, too. */
export function baseUrlOf(given: string): string {
  const url = given.replace(/\/+$/, "");
  return new URL(url).pathname === "/" ? `${url}/v1` : url;
}

/** The base URL without `/v1`, below which a server has its own routes beside those of OpenAI. */
export const rootOf = (baseUrl: string): string => baseUrl.replace(/\/v1$/, "");

type Ask = <S extends z.ZodType>(url: string, schema: S, body?: object) => Promise<z.output<S> | null>;

/** Asks for JSON; null is an answer of another kind or shape. Rejects if there is no answer. */
function ask(key: string | null, timeoutMs: number): Ask {
  return async (url, schema, body) => {
    const response = await fetch(url, {
      headers: key === null ? {} : { authorization: `Bearer ${key}` },
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
    if (response.status === 401 || response.status === 403) {
      throw new Error(`it answers ${response.status} and wants a key, in WORKER_BACKEND_KEY`);
    }
    const text = await textOf(response);
    if (!response.ok || text === null) return null;
    try {
      return schema.parse(JSON.parse(text));
    } catch {
      return null;
    }
  };
}

/** The body of a response; null if it is longer than any list of models. */
async function textOf({ body }: Response): Promise<string | null> {
  if (body === null) return "";
  try {
    return (await readBounded(body, LIST_BYTES)).toString("utf8");
  } catch (error) {
    if (error instanceof BodyTooLarge) return null;
    throw error;
  }
}

/** Models of a list; those beyond the first thousand are left out. */
const listOf = <S extends z.ZodType>(model: S) => z.array(model).transform((models) => models.slice(0, MOST_MODELS));
const size = z.number().positive().optional().catch(undefined);
const list = z.object({
  data: listOf(
    z.object({
      id: z.string().min(1).max(300),
      owned_by: z.string().optional().catch(undefined),
      max_model_len: size,
      meta: z.object({ n_params: size, n_ctx: size }).optional().catch(undefined),
    }),
  ),
});

async function describe(url: string, ask: Ask): Promise<ModelServer | null> {
  const served = await ask(`${url}/models`, list);
  if (served === null) return null;
  const root = rootOf(url);
  const owner = served.data[0]?.owned_by;
  if (owner === "llamacpp") return { kind: "llama-server", url, models: await readLlamaServer(served, root, ask) };
  if (owner !== "vllm") {
    const known = (await readLmStudio(root, ask)) ?? (await readOllama(root, ask));
    if (known !== null) return { ...known, url };
  }
  const models = served.data.map(({ id, max_model_len }) => ({
    name: id,
    parameters: parametersIn(id),
    context: max_model_len ?? null,
  }));
  return { kind: owner === "vllm" ? "vLLM" : "a model server", url, models };
}

const props = z.object({ default_generation_settings: z.object({ n_ctx: size }) });

/** `n_ctx` is what one slot has. */
async function readLlamaServer({ data }: z.output<typeof list>, root: string, ask: Ask): Promise<ServedModel[]> {
  const [first] = data;
  const told = first?.meta?.n_ctx ?? (await ask(`${root}/props`, props))?.default_generation_settings.n_ctx;
  return data.map(({ id, meta }) => ({
    name: id,
    parameters: meta?.n_params ?? parametersIn(id),
    context: meta?.n_ctx ?? told ?? null,
  }));
}

const studio = z.object({
  data: listOf(z.object({ id: z.string(), type: z.string(), max_context_length: size, loaded_context_length: size })),
});

async function readLmStudio(root: string, ask: Ask): Promise<Pick<ModelServer, "kind" | "models"> | null> {
  const told = await ask(`${root}/api/v0/models`, studio);
  if (told === null) return null;
  const models = told.data.flatMap(({ id, type, max_context_length, loaded_context_length }) =>
    type === "embeddings"
      ? []
      : { name: id, parameters: parametersIn(id), context: loaded_context_length ?? max_context_length ?? null },
  );
  return { kind: "LM Studio", models };
}

const tags = z.object({ models: listOf(z.object({ name: z.string() })) });
const show = z.object({
  parameters: z.string().optional().catch(undefined),
  capabilities: z.array(z.string()).optional().catch(undefined),
  details: z
    .object({ parameter_size: z.string().optional().catch(undefined) })
    .optional()
    .catch(undefined),
  model_info: z.record(z.string(), z.unknown()).optional().catch(undefined),
});
const loaded = z.object({ models: listOf(z.object({ name: z.string(), context_length: size })) });
/** Ollama's context of a model that is not loaded and does not name one itself. The server's settings, which its API does not tell, may give it more. */
const OLLAMA_CONTEXT = 4_096;

async function readOllama(root: string, ask: Ask): Promise<Pick<ModelServer, "kind" | "models"> | null> {
  const told = await ask(`${root}/api/tags`, tags);
  if (told === null) return null;
  const running = (await ask(`${root}/api/ps`, loaded))?.models ?? [];
  const contexts = new Map(running.map(({ name, context_length }) => [name, context_length]));
  const models: ServedModel[] = [];
  for (let start = 0; start < told.models.length; start += SHOWN_AT_ONCE) {
    const some = told.models.slice(start, start + SHOWN_AT_ONCE);
    const read = some.map(({ name }) => readOllamaModel(name, contexts.get(name), root, ask));
    models.push(...(await Promise.all(read)).flat());
  }
  return { kind: "Ollama", models };
}

/** One model of Ollama; none if it writes no text, such as a model of embeddings. */
async function readOllamaModel(
  name: string,
  loadedContext: number | undefined,
  root: string,
  ask: Ask,
): Promise<ServedModel[]> {
  const { parameters, capabilities, details, model_info } =
    (await ask(`${root}/api/show`, show, { model: name })) ?? {};
  if (capabilities !== undefined && !capabilities.includes("completion")) return [];
  const trained = Object.entries(model_info ?? {}).find(([key]) => key.endsWith(".context_length"))?.[1];
  const set = loadedContext ?? Number(/^num_ctx\s+(\d+)/m.exec(parameters ?? "")?.[1] ?? OLLAMA_CONTEXT);
  const count = model_info?.["general.parameter_count"];
  return [
    {
      name,
      parameters: typeof count === "number" ? count : parametersIn(details?.parameter_size ?? name),
      context: typeof trained === "number" ? Math.min(trained, set) : set,
    },
  ];
}

const UNITS = { M: 1e6, B: 1e9 };

/** Parameters as names tell them: 8000000000 of "qwen3:8b" or "8.0B"; of several figures the first, as in "30B-A3B". */
function parametersIn(text: string): number | null {
  const [, figure, unit] = /(?<![a-z0-9.])(\d+(?:\.\d+)?)([BM])(?![a-z0-9])/i.exec(text) ?? [];
  if (figure === undefined || unit === undefined) return null;
  return Math.round(Number(figure) * UNITS[unit.toUpperCase() as keyof typeof UNITS]);
}
