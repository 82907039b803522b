/** The documentation in a browser: each page under our policy, from our host alone, with its copy buttons, languages and search. */
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { it as base } from "./support/browser.ts";
import { findingsOf, flawsOf } from "./support/flaws.ts";
import { MODEL } from "./support/web-stack.ts";

/** Bytes that the reference loads, as they are sent. */
const MOST = 40_000;
const REFERENCE = "/docs/reference";

/** A reader with an empty browser; `failures`: what a page complained about. */
const it = base.extend("reader", async ({ stack, browser }, { onCleanup }) => {
  const context = await browser.newContext({ reducedMotion: "reduce", viewport: { width: 1280, height: 900 } });
  onCleanup(() => context.close());
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  const failures: string[] = [];
  page.on("pageerror", ({ message }) => failures.push(message));
  page.on("console", (message) => message.type() === "error" && failures.push(message.text()));
  const go = (path: string) => page.goto(`${stack.info.base_url}${path}`);
  return { context, page, failures, go };
});

const coloursOf = (page: Page) =>
  page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]");

describe.each(["/docs", REFERENCE, "/docs/errors", "/docs/search?q=retry"])("%s", (path) => {
  it("has no flaw by day and night, and loads from here alone", async ({ stack, reader: { page, failures, go } }) => {
    const answered = new Set<string>();
    page.on("response", (response) => answered.add(new URL(response.url()).origin));
    await go(path);
    await page.locator("h1").waitFor();
    expect(await flawsOf(page)).toEqual([]);
    expect([...answered]).toEqual([new URL(stack.info.base_url).origin]);
    expect(failures).toEqual([]);
  });

  it("has the application's colours in the theme that was chosen", async ({ stack, reader: { context, page, go } }) => {
    await page.emulateMedia({ colorScheme: "light" });
    await context.addCookies([{ name: "theme", value: "dark", url: stack.info.base_url }]);
    await go("/app/models");
    const expected = await coloursOf(page);
    await go(path);
    expect(await coloursOf(page)).toEqual(expected);
    expect(await findingsOf(page)).toEqual([]);
  });
});

it("the reference loads less than 40 kB", async ({ reader: { page, go } }) => {
  await go(REFERENCE);
  await page.waitForLoadState("load");
  const sizes = await page.evaluate(
    `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].map(({ transferSize }) => transferSize)`,
  );
  const total = (sizes as number[]).reduce((sum, one) => sum + one, 0);
  console.log(`The reference loads ${total} bytes`);
  expect(total).toBeGreaterThan(10_000);
  expect(total).toBeLessThan(MOST);
});

it("an operation's address leads to it", async ({ reader: { page, go } }) => {
  await go(`${REFERENCE}#tag/Models/operation/listModels`);
  const box = await page.getByRole("heading", { name: "List models" }).boundingBox();
  expect(Math.abs(box?.y ?? Number.POSITIVE_INFINITY)).toBeLessThan(250);
});

it("code is copied without its caption", async ({ reader: { page, go } }) => {
  await go(`${REFERENCE}#tag/Models/operation/listModels`);
  const samples = page.locator('[id="tag/Models/operation/listModels"] .samples');
  await samples.getByRole("button", { name: "Copy curl" }).click();
  await samples.getByRole("status").filter({ hasText: "curl copied" }).waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toMatch(
    /^curl \S+\/v1\/models \\\n {2}-H "Authorization: Bearer \$SERVICE_API_KEY"$/,
  );
});

it("a chosen language is kept, by keyboard, on all pages and in the application", async ({
  stack,
  reader: { page, go },
}) => {
  await go("/docs");
  const curl = page.getByRole("tab", { name: "curl" }).first();
  await curl.focus();
  expect(await curl.getAttribute("aria-selected")).toBe("true");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  expect(await page.locator(":focus").textContent()).toBe("Python");
  await page.locator("code", { hasText: "client = OpenAI(" }).waitFor({ state: "visible" });
  await go(REFERENCE);
  expect(await page.locator('[aria-selected="true"]', { hasNotText: "Python" }).count()).toBe(0);
  await page.goto(`${stack.info.app_url}/models/${MODEL}`);
  expect(await page.getByRole("radio", { name: "Python" }).isChecked()).toBe(true);
});

it("results come while one types, and the keyboard leads to one", async ({ reader: { page, failures, go } }) => {
  await go("/docs/errors");
  await page.keyboard.press("/");
  await page.keyboard.type("idempot");
  await page.locator(".panel a").first().waitFor();
  expect(await findingsOf(page)).toEqual([]);
  await page.keyboard.press("Escape");
  expect(await page.locator(".panel").isVisible()).toBe(false);
  // The browser empties the field at Escape; one letter alone begins no word.
  await page.keyboard.type("re");
  await page.locator(".panel a").first().waitFor();
  await page.keyboard.press("ArrowDown");
  const to = await page.locator(":focus").getAttribute("href");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname + url.hash === to);
  expect(failures).toEqual([]);
});

it("without a script all languages are there, and the search is a form", async ({ stack, browser }) => {
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(`${stack.info.base_url}/docs`);
  await page.getByText("client = OpenAI(").waitFor();
  await page.getByRole("searchbox").fill("webhook");
  await page.getByRole("searchbox").press("Enter");
  await page.getByRole("link", { name: "Webhooks Guide" }).waitFor();
  await page.close();
});
