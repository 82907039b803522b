import { shareStacks } from "../support/shared-stack.ts";

/** What most pages are tried with. */
export const MODEL = "qwen3-1.7b";
/** Its worker is found guilty by equivocation.test.ts and takes no job afterwards. */
export const GUILTY_MODEL = "llama-3.2-3b-instruct";

/** `service`: everything, with an honest worker and one whose key signs two answers (number 2). */
export default shareStacks({ service: { workers: [{ models: [MODEL] }, { models: [GUILTY_MODEL] }] } });
