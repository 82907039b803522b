import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Debian's Chromium, or the one named. */
const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** Whether there is a browser. Says loudly what is not tested without one. */
export function hasBrowser(): boolean {
  if (existsSync(CHROMIUM)) return true;
  console.warn(
    `\n  NO BROWSER: ${CHROMIUM} does not exist, so the web application is not tested in one.` +
      "\n  Install Debian's chromium, or set CHROMIUM to one.\n",
  );
  return false;
}

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    // Containers run as root and have a small /dev/shm.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
}
