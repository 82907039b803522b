import type { Address, Hex } from "viem";
import { z } from "zod";
import { isNodeUrl, NODE_URL_HELP } from "../../protocol/node-url.ts";

const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
const seconds = z.coerce.number().min(0);
const key = z.custom<Hex>(
  (v) => typeof v === "string" && /^0x[0-9a-fA-F]{64}$/.test(v),
  "must be 0x and 64 hex digits",
);
/** The worker's settings by their variables: what each may be, and what it is when it is not said. */
export const schema = z.object({
  WORKER_PORT: whole(0, 65_535).default(9101),
  WORKER_HOST: z.string().min(1).default("127.0.0.1"),
  WORKER_ENDPOINT: z
    .url({ protocol: /^https?$/, error: "must be an http(s) URL" })
    .max(200)
    .optional(),
  RPC_URL: z
    .url({ protocol: /^https?$/ })
    .refine(isNodeUrl, NODE_URL_HELP)
    .default("http://127.0.0.1:8545"),
  DEPLOYMENT_FILE: z
    .string({ error: "is needed: the service's deployment.json, with its contracts' addresses" })
    .min(1),
  WORKER_PRIVATE_KEY: key.optional(),
  WORKER_OWNER_PRIVATE_KEY: key.optional(),
  WORKER_PASSPHRASE: z.string().optional(),
  WORKER_PASSPHRASE_FILE: z.string().optional(),
  WORKER_DATA_DIR: z.string().min(1),
  WORKER_MODELS: z
    .string({ error: "is needed: the catalog ids to host, e.g. --models qwen3-8b" })
    .min(1)
    .transform(parseMap),
  WORKER_BACKEND: z.union(
    [z.literal("builtin"), z.url({ protocol: /^https?$/ })],
    'must be "builtin" or an http(s) URL',
  ),
  WORKER_BACKEND_KEY: z.string().min(1).optional(),
  WORKER_GGUF: z.string().min(1).optional(),
  WORKER_GGUF_CONTEXT: whole(64, 10_000_000).optional(),
  WORKER_GGUF_THREADS: whole(1, 1_024).optional(),
  WORKER_GGUF_GPU: z.enum(["auto", "off"]).default("auto"),
  WORKER_CONCURRENCY: whole(1, 10_000).optional(),
  WORKER_QUEUE: whole(0, 100_000).optional(),
  WORKER_PAYOUT: z
    .custom<Address>((v) => typeof v === "string" && /^0x[0-9a-fA-F]{40}$/.test(v), "must be an address")
    .optional(),
  WORKER_STAKE: z.coerce.number().positive().max(100_000_000).optional(),
  WORKER_TOKENS_PER_SECOND: z.coerce.number().min(0).default(0),
  WORKER_FIRST_TOKEN_MS: whole(0, 600_000).default(0),
  WORKER_SELF_SETTLE_AFTER: seconds.optional(),
  WORKER_ACKNOWLEDGE_MARGIN: seconds.default(5),
  WORKER_KEEP_SETTLED_SECONDS: seconds.default(15),
  WORKER_SETTLEMENT_POLL_MS: whole(50, 60_000).default(2_000),
  WORKER_LOCK_WAIT_MS: whole(0, 30_000).default(2_000),
  WORKER_DRAIN_SECONDS: seconds.default(130),
  WORKER_LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
});

/** `a,b=name` → a under "a", b under "name". */
export function parseMap(text: string): ReadonlyMap<string, string> {
  const entries = text.split(",").flatMap((part): [string, string][] => {
    const [id = "", ...name] = part.split("=").map((s) => s.trim());
    return id === "" ? [] : [[id, name.join("=") || id]];
  });
  return new Map(entries);
}
