/** Models of the stack, each with a worker of its own. */
export const MODEL = "qwen3-8b";
export const SLOW = "mistral-7b-instruct-v0.3";
/** Its worker never says anything. */
export const MUTE = "qwen3-14b";

export const WORKERS = [
  { models: [MODEL] },
  { models: [SLOW], env: { WORKER_TOKENS_PER_SECOND: "20" } },
  { models: [MUTE], env: { WORKER_FIRST_TOKEN_MS: "600000" } },
];

/** How long the gateway waits for a settlement. */
export const DISPUTE_WAIT_MS = 8_000;
