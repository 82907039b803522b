import type { TestProject } from "vitest/node";
import { shareStacks } from "../support/shared-stack.ts";
import { shareBrowser } from "./support/chromium.ts";

/** What most pages are tried with. */
export const MODEL = "qwen3-1.7b";
/** `service`: everything, with one worker. */
const setUpStacks = shareStacks({ service: { workers: [{ models: [MODEL] }] } });

/** The suite's stack, and its browser. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const endings = [await shareBrowser(project), await setUpStacks(project)];
  return async () => {
    for (const end of endings) await end();
  };
};
