import { shareStacks } from "../support/shared-stack.ts";

export const MODEL = "qwen3-8b";
/** Its worker is registered and does not run: a test plays it. */
export const PLAYED_MODEL = "qwen3-14b";

/** `service`: everything, with a worker that answers and one that a test plays (number 2). */
export default shareStacks({
  service: { workers: [{ models: [MODEL] }, { models: [PLAYED_MODEL], start: false }] },
});
