import { shareStacks } from "../support/shared-stack.ts";

/** What most pages are tried with. */
export const MODEL = "qwen3-1.7b";
/** `service`: everything, with one worker. */
export default shareStacks({ service: { workers: [{ models: [MODEL] }] } });
