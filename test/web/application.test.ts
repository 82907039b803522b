/** The web application against one running service: its API without a browser, then a person's ways through it in one. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { accessibilityTests } from "./cases/accessibility.ts";
import { accountSettingsTests } from "./cases/account-settings.ts";
import { contractWalletTests } from "./cases/contract-wallet.ts";
import { equivocationTests } from "./cases/equivocation.ts";
import { journeyTests } from "./cases/journey.ts";
import { limitsFormTests } from "./cases/limits-form.ts";
import { mishapTests } from "./cases/mishaps.ts";
import { plainTokenTests } from "./cases/plain-token.ts";
import { replacementTests } from "./cases/replacement.ts";
import { sessionTests } from "./cases/session.ts";
import { hasBrowser, launchBrowser } from "./support/browser.ts";

let stack: TestStack;
let browser: Browser;

beforeAll(async () => {
  stack = await startTestStack({ workers: [{}] });
});
afterAll(() => stack?.remove());

describe("without a browser", () => {
  sessionTests(() => stack);
});

describe.skipIf(!hasBrowser())("in a browser", { timeout: 120_000 }, () => {
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  describe("a person's way through", () => journeyTests(() => ({ stack, browser })));
  describe("what goes wrong", () => mishapTests(() => ({ stack, browser })));
  describe("a wallet that is a contract", () => contractWalletTests(() => ({ stack, browser })));
  describe("a stablecoin without permits", () => plainTokenTests(() => ({ stack, browser })));
  describe("a transaction in the wallet", () => replacementTests(() => ({ stack, browser })));
  describe("the form of the limits", () => limitsFormTests(() => ({ stack, browser })));
  describe("the settings of an account", () => accountSettingsTests(() => ({ stack, browser })));
  describe("for everyone", () => accessibilityTests(() => ({ stack, browser })));
  // Last: the one worker takes no job any more.
  describe("a worker that signed two answers", () => equivocationTests(() => ({ stack, browser })));
});
