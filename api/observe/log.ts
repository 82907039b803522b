import { type DestinationStream, type Logger, pino } from "pino";
import { redactor, type Secret, secretsOfDatabaseUrl, secretsOfUrl } from "../../shared/redact.ts";
import type { Config } from "../config.ts";

type Secrets = Partial<
  Pick<
    Config,
    | "RPC_URL"
    | "RPC_URLS"
    | "DATABASE_URL"
    | "GATEWAY_PRIVATE_KEY"
    | "MASTER_KEY"
    | "OTHER_MASTER_KEYS"
    | "METRICS_TOKEN"
  >
>;

/** Inside the gateway a job's id is the `bytes16` of the chain; a log line shows it as clients know it. */
const serializers = { jobId: (id: string | null) => id?.replace(/^0x/, "job_") };

/**
 * JSON lines on stdout. Libraries quote settings in their errors: viem quotes the node's URL, which may hold a paid
 * key. So every line is searched for the settings that are secret.
 */
export function createLogger(level: string, secrets: Secrets, destination: DestinationStream = process.stdout): Logger {
  const hooks = { streamWrite: redactor(secretsOf(secrets)) };
  return pino({ level, base: { part: "api" }, serializers, hooks }, destination);
}

const secretsOf = (settings: Secrets): Secret[] => [
  ...secretsOfUrl(settings.RPC_URL, "RPC_URL"),
  ...(settings.RPC_URLS ?? []).flatMap((url) => secretsOfUrl(url, "RPC_URLS")),
  ...secretsOfDatabaseUrl(settings.DATABASE_URL, "DATABASE_URL"),
  [settings.GATEWAY_PRIVATE_KEY?.slice(2), "GATEWAY_PRIVATE_KEY"],
  [settings.MASTER_KEY, "MASTER_KEY"],
  ...(settings.OTHER_MASTER_KEYS ?? []).map((key): Secret => [key, "OTHER_MASTER_KEYS"]),
  [settings.METRICS_TOKEN, "METRICS_TOKEN"],
];
