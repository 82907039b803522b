/** Tests in a browser: the service, a browser and people with wallets as fixtures. */
import { chromium } from "playwright-core";
import type { PrivateKeyAccount } from "viem";
import { it as base, beforeEach } from "vitest";
import { sharedBrowser, sharedStack } from "../../support/shared-fixtures.ts";
import type { Stack } from "../../support/stack.ts";
import { type Look, Visitor } from "./visitor.ts";

/** What the tests need to know of a stack: the shared one, or a file's own. */
export type WebStack = Pick<Stack, "info" | "workers">;

/** For a group whose steps build on the ones before them: those after a failed one are skipped. */
export function inSteps(): void {
  beforeEach(({ task, skip }) => {
    skip(task.suite?.tasks.some((step) => step.result?.state === "fail") ?? false, "an earlier step failed");
  });
}

/** `stack`, `browser`: the shared ones. `open`: a person with this wallet, in a window that the file's end closes. */
export const it = base
  .extend("stack", { scope: "file" }, (): Promise<WebStack> => sharedStack("web"))
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures this one needs
  .extend("browser", { scope: "worker" }, async ({}, { onCleanup }) => {
    const browser = await chromium.connect(await sharedBrowser());
    onCleanup(() => browser.close());
    return browser;
  })
  .extend("open", { scope: "file" }, ({ stack, browser }, { onCleanup }) => {
    const opened: Visitor[] = [];
    onCleanup(async () => {
      for (const visitor of opened) await visitor.close();
    });
    return async (account: PrivateKeyAccount, look?: Look) => {
      const visitor = await Visitor.open(browser, stack, account, look);
      opened.push(visitor);
      return visitor;
    };
  });
