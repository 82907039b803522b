/** Chromium: one that test files share, or one of a test's own. */
import { type Browser, chromium, type LaunchOptions } from "playwright-core";
import { chromiumOptions } from "../../../scripts/dev/chromium.ts";

/**
 * What lies in the address bar of each window are pages of Chromium's own, which take a second of processor time. Chromium knows one list of
 * features: this one replaces Playwright's.
 */
const WITHOUT =
  "WebUIOmniboxPopup,WebUIOmniboxAimPopup,HttpsUpgrades,MediaRouter,OptimizationHints,PaintHolding,SpareRendererForSitePerProcess";

async function options(): Promise<LaunchOptions> {
  const { args = [], ...found } = await chromiumOptions();
  return { ...found, args: [...args, `--disable-features=${WITHOUT}`] };
}

export const launchBrowser = async (): Promise<Browser> => await chromium.launch(await options());

/** Starts the browser that files share: a start of Chromium takes three seconds of processor time. */
export async function startBrowser() {
  // A signal is the test runner's business: it ends the browser with all else that the run has started.
  const patient = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  const server = await chromium.launchServer({ ...(await options()), ...patient });
  return { known: server.wsEndpoint(), stop: () => server.close() };
}
