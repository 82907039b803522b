/** A newcomer without a wallet, on a local stack. */
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { DEMO_SENTENCE } from "../../worker/backends/builtin.ts";
import { it as base } from "./support/browser.ts";
import { findingsOf } from "./support/flaws.ts";
import { MODEL } from "./support/web-stack.ts";

/** A page of a browser without any wallet, and what it complained about. */
const it = base.extend("newcomer", { scope: "file" }, async ({ browser }, { onCleanup }) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" });
  context.setDefaultTimeout(60_000);
  onCleanup(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => void (message.type() === "error" && complaints.push(message.text())));
  return { page, complaints };
});

const press = (page: Page, name: string | RegExp) =>
  page.getByRole("button", { name, exact: typeof name === "string" }).click();
const sees = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

describe("a newcomer without a wallet", () => {
  it("goes on as the demo account, and is still there after a reload", async ({ newcomer, stack }) => {
    const { page } = newcomer;
    await page.goto(stack.info.app_url);
    await page.getByRole("button", { name: "Continue as the demo account" }).waitFor();
    expect(await findingsOf(page)).toEqual([]);
    await press(page, "Continue as the demo account");
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    const wallet = stack.info.demo?.wallet as string;
    expect(await page.locator(".who code").getAttribute("title")).toBe(wallet);
    await page.goto(`${stack.info.app_url}/fund`);
    await press(page, /^Get .* test USDG$/);
    await sees(page, "Test tokens are in your wallet");
    expect(newcomer.complaints).toEqual([]);
  });

  it("buys credits with one signature and one transaction, and takes some out", async ({ newcomer, stack }) => {
    const { page } = newcomer;
    await page.goto(`${stack.info.app_url}/fund`);
    await press(page, "Deposit");
    await sees(page, "Credits added");
    await page.getByLabel("Credits to withdraw").fill("1");
    await press(page, "Withdraw");
    await sees(page, "Withdrawn");
    expect(newcomer.complaints).toEqual([]);
  });

  it("sees in the prices, the playground and the answer that no model answers", async ({ newcomer, stack }) => {
    const { page } = newcomer;
    await page.goto(stack.info.base_url);
    const row = page.getByRole("row").filter({ hasText: MODEL });
    await row.getByText("demo text").waitFor();
    await sees(page, /Demo text: no model answers here/);
    await page.getByLabel("Model", { exact: true }).selectOption({ label: `${MODEL} (demo text)` });
    await press(page, "Say hello.");
    await sees(page, DEMO_SENTENCE.slice(0, 60));
    expect(await findingsOf(page)).toEqual([]);
  });
});
