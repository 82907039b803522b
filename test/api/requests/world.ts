import { pino } from "pino";
import { privateKeyToAccount } from "viem/accounts";
import { expect } from "vitest";
import { Keys } from "../../../api/accounts/keys.ts";
import { openDatabase } from "../../../api/store/database.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ChainReader, chainReader } from "../../support/chain-reader.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

/** What all files of this folder share: one stack, as starting one takes longer than most of them run. */
export type World = {
  stack: TestStack;
  /** A client with the demo account's key. */
  api: ApiClient;
  chain: ChainReader;
  keys: Keys;
  pool: ReturnType<typeof openDatabase>;
};

/** The hosted models; the rest of the catalog has no worker. */
export const MODEL = "qwen3-8b";
export const LARGE_MODEL = "llama-3.3-70b-instruct";

/** A wallet without credits. */
export const STRANGER = privateKeyToAccount(`0x${"42".repeat(32)}`).address;

export async function openWorld(): Promise<World> {
  const stack = await startTestStack({
    workers: [{ models: [MODEL, LARGE_MODEL] }],
    // The burst limit has a file of its own; here it would only be in the way.
    env: { api: { BURST_PER_SECOND: "1000000" } },
  });
  const pool = openDatabase(stack.info.database_url, pino({ level: "silent" }), 2);
  return { stack, api: apiClient(stack), chain: chainReader(stack), keys: new Keys(pool), pool };
}

/** The error body with every key, in the specification's shape. */
export const errorBody = ({ stack }: World, code: string, type: string, more: object = {}) => ({
  error: {
    code,
    message: expect.stringMatching(/.{10,}/),
    type,
    param: null,
    docs: `${stack.info.base_url}/docs/errors#${code}`,
    ...more,
  },
});

/** Free and escrowed credits of the demo account, on the chain. */
export async function credits({ stack, chain }: World): Promise<{ free: number; escrowed: number }> {
  const { free, escrowed } = await chain.account(stack.info.demo?.wallet as string);
  return { free, escrowed };
}

/** A request with headers and body of one's own, as the demo account. */
export function call(
  { stack }: World,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string | Uint8Array,
): Promise<Response> {
  return fetch(`${stack.info.base_url}${path}`, {
    method,
    headers: { authorization: `Bearer ${stack.info.demo?.api_key}`, ...headers },
    ...(body === undefined ? {} : { body: body as string }),
  });
}

export const JSON_TYPE = { "content-type": "application/json" };

// biome-ignore lint/suspicious/noExplicitAny: whatever the API answers is what the tests look at
export const errorOf = async (response: Response) => ((await response.json()) as any).error;
