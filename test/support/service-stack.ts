import { MASTER_KEY, REMOVED_KEY, SECOND_KEY, THIRD_KEY } from "./second-gateway.ts";
import type { TestStackOptions } from "./stack.ts";

/** Answered at once, by one worker. */
export const MODEL = "qwen3-8b";
export const LARGE_MODEL = "llama-3.3-70b-instruct";
/** Answered at 50 tokens a second: a test can act in the middle of an answer. */
export const SLOW_MODEL = "qwen3-14b";
/** Only the test of its latency asks for it. */
export const QUIET_MODEL = "gemma-3-27b-it";
/** Its worker is registered and does not run: a test plays it (number 3), or starts it. */
export const ABSENT_MODEL = "mistral-7b-instruct-v0.3";
/** The same of another worker (number 4), which misbehaves where a test plays it. */
export const PLAYED_MODEL = "deepseek-r1-distill-llama-70b";
/** No worker has it. */
export const UNHOSTED_MODEL = "qwen3-1.7b";

/** `MODEL` can do all, `LARGE_MODEL` write JSON, `QUIET_MODEL` nothing beyond text. */
const WORKER_ABILITIES = `${["json_object", "json_schema", "reasoning"].map((one) => `${MODEL}=${one}`)},${LARGE_MODEL}=json_object`;

/**
 * Everything, for a second gateway too. Tests that stop the mining or reorganise the chain have a stack of their own: files run side by
 * side.
 */
export const SERVICE: TestStackOptions = {
  workers: [
    { models: [MODEL, LARGE_MODEL, QUIET_MODEL], env: { WORKER_ABILITIES } },
    { models: [SLOW_MODEL], env: { WORKER_TOKENS_PER_SECOND: "50" } },
    { models: [ABSENT_MODEL], start: false },
    { models: [PLAYED_MODEL], start: false },
  ],
  gatewayKeys: [SECOND_KEY, THIRD_KEY, REMOVED_KEY],
  // The burst limit has a file of its own; here it would only be in the way.
  env: { api: { MASTER_KEY, BURST_PER_SECOND: "1000000" } },
};
