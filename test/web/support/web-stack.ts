import type { TestStackOptions } from "../../support/stack.ts";

/** What most pages are tried with. */
export const MODEL = "qwen3-1.7b";
/** Everything, with one worker. */
export const WEB: TestStackOptions = { workers: [{ models: [MODEL] }] };
