import { type DestinationStream, type Logger, pino } from "pino";
import type { Config } from "./config.ts";

/** Shorter texts would blot out lines that mean something else. */
const SHORTEST = 8;

type Secrets = Partial<
  Pick<
    Config,
    "RPC_URL" | "DATABASE_URL" | "GATEWAY_PRIVATE_KEY" | "MASTER_KEY" | "OTHER_MASTER_KEYS" | "METRICS_TOKEN"
  >
>;

/**
 * JSON lines on stdout. What libraries put into their errors is not ours to choose (viem quotes the node's URL, which may hold a paid
 * key), so every line is searched for the settings that are secret.
 */
export function createLogger(level: string, secrets: Secrets, destination?: DestinationStream): Logger {
  const texts = hiddenTexts(secrets);
  const hide = (line: string) => texts.reduce((text, [secret, name]) => text.replaceAll(secret, name), line);
  const options = { level, base: { part: "api" }, hooks: { streamWrite: hide } };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** Texts to look for, as they stand in JSON, with what is shown instead. */
function hiddenTexts(secrets: Secrets) {
  const { RPC_URL, DATABASE_URL, GATEWAY_PRIVATE_KEY, MASTER_KEY, OTHER_MASTER_KEYS = [], METRICS_TOKEN } = secrets;
  const all: [string | undefined, string][] = [
    [RPC_URL, "[RPC_URL]"],
    [DATABASE_URL, "[DATABASE_URL]"],
    [passwordOf(DATABASE_URL), "[password]"],
    [GATEWAY_PRIVATE_KEY?.slice(2), "[GATEWAY_PRIVATE_KEY]"],
    [MASTER_KEY, "[MASTER_KEY]"],
    ...OTHER_MASTER_KEYS.map((key): [string, string] => [key, "[OTHER_MASTER_KEYS]"]),
    [METRICS_TOKEN, "[METRICS_TOKEN]"],
  ];
  return all.flatMap(([text, name]): [string, string][] =>
    text === undefined || text.length < SHORTEST ? [] : [[JSON.stringify(text).slice(1, -1), name]],
  );
}

function passwordOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? decodeURIComponent(new URL(url).password) : undefined;
}
