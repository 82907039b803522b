/** Tests in a browser: the service, a browser and people with wallets as fixtures. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import type { PrivateKeyAccount } from "viem";
import { it as base, describe } from "vitest";
import { sharedStack } from "../../support/shared-stack.ts";
import type { Stack } from "../../support/stack.ts";
import { type Look, Visitor } from "./visitor.ts";

/** What the tests need to know of a stack: the shared one, or a file's own. */
export type WebStack = Pick<Stack, "info" | "workers">;

/** Debian's Chromium, or the one named. */
const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const hasBrowser = existsSync(CHROMIUM);
if (!hasBrowser) {
  console.warn(
    `\n  NO BROWSER: ${CHROMIUM} does not exist, so the web application is not tested in one.` +
      "\n  Install Debian's chromium, or set CHROMIUM to one.\n",
  );
}

/** A group of tests that is skipped where there is no browser. */
export const describeInBrowser = describe.skipIf(!hasBrowser);

/**
 * What lies in the address bar of each window are pages of Chromium's own, which take a second of processor time. Chromium knows one list of
 * features: this one replaces Playwright's.
 */
const WITHOUT =
  "WebUIOmniboxPopup,WebUIOmniboxAimPopup,HttpsUpgrades,MediaRouter,OptimizationHints,PaintHolding,SpareRendererForSitePerProcess";

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM,
    // Containers run as root and have a small /dev/shm.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", `--disable-features=${WITHOUT}`],
  });

/** `stack`: the suite's shared one. `browser`: one a process. `open`: a person with this wallet, in a window that the file's end closes. */
export const it = base
  .extend("stack", { scope: "file" }, (): Promise<WebStack> => sharedStack("service"))
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures this one needs
  .extend("browser", { scope: "worker" }, async ({}, { onCleanup }) => {
    const browser = await launchBrowser();
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
