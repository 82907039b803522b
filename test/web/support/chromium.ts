/** Chromium: one that test files share, or one of a test's own. */
import { existsSync } from "node:fs";
import { type Browser, chromium, type LaunchOptions } from "playwright-core";

/** Debian's Chromium, or the one named. */
const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
export const hasBrowser = existsSync(CHROMIUM);
if (!hasBrowser) {
  console.warn(
    `\n  NO BROWSER: ${CHROMIUM} does not exist, so the web application is not tested in one.` +
      "\n  Install Debian's chromium, or set CHROMIUM to one.\n",
  );
}

/**
 * What lies in the address bar of each window are pages of Chromium's own, which take a second of processor time. Chromium knows one list of
 * features: this one replaces Playwright's.
 */
const WITHOUT =
  "WebUIOmniboxPopup,WebUIOmniboxAimPopup,HttpsUpgrades,MediaRouter,OptimizationHints,PaintHolding,SpareRendererForSitePerProcess";

const OPTIONS: LaunchOptions = {
  executablePath: CHROMIUM,
  // Containers run as root and have a small /dev/shm.
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", `--disable-features=${WITHOUT}`],
};

export const launchBrowser = (): Promise<Browser> => chromium.launch(OPTIONS);

/** Starts the browser that files share: a start of Chromium takes three seconds of processor time. */
export async function startBrowser() {
  // A signal is the test runner's business: it ends the browser with all else that the run has started.
  const patient = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  const server = await chromium.launchServer({ ...OPTIONS, ...patient });
  return { known: server.wsEndpoint(), stop: () => server.close() };
}
