import type { BackendConfig, Config } from "../config/config.ts";
import { ConfigError } from "../errors.ts";
import { type Backend, BackendError } from "./backend.ts";
import { BuiltinTextGenerator } from "./builtin.ts";
import { LlamaBackend } from "./llama/backend.ts";
import { OpenAiBackend } from "./openai.ts";

/** The configured backend. Throws a ConfigError if it cannot be one. */
export async function createBackend(backend: BackendConfig, concurrency: number): Promise<Backend> {
  if (backend.kind === "builtin") return new BuiltinTextGenerator(backend);
  if (backend.kind === "openai") {
    return new OpenAiBackend({ baseUrl: backend.url, key: backend.key, connections: concurrency });
  }
  try {
    return await LlamaBackend.load({ ...backend, concurrency });
  } catch (error) {
    if (error instanceof BackendError) throw new ConfigError(error.message, { cause: error });
    throw error;
  }
}

/** Names that are configured and that the backend does not serve. Throws a BackendError when it cannot be asked. */
export async function unserved(
  backend: Backend,
  models: Config["models"],
): Promise<{ missing: string[]; served: string[] }> {
  const served = await backend.models();
  if (served === null) return { missing: [], served: [] };
  return { missing: [...models.values()].filter((name) => !served.includes(name)), served };
}
