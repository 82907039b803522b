import { type Redact, redactor, secretsOfUrl } from "../../protocol/redact.ts";
import type { Config } from "./config.ts";

type Secrets = Pick<Config, "rpcUrl" | "backend" | "privateKey" | "ownerKey" | "passphrase">;

/** Takes out of a text what is secret of the settings: keys, the passphrase, and what URLs of the node and the model server hold of such. */
export function hiding({ rpcUrl, backend, privateKey, ownerKey, passphrase }: Secrets): Redact {
  const server = backend.kind === "openai" ? backend : undefined;
  return redactor([
    ...secretsOfUrl(rpcUrl, "RPC_URL"),
    ...secretsOfUrl(server?.url, "WORKER_BACKEND"),
    [server?.key, "WORKER_BACKEND_KEY"],
    [privateKey?.slice(2), "WORKER_PRIVATE_KEY"],
    [ownerKey?.slice(2), "WORKER_OWNER_PRIVATE_KEY"],
    [passphrase.text ?? undefined, "WORKER_PASSPHRASE"],
  ]);
}
