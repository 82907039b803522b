/** The API reference in a browser: Redoc shows every operation under our policy, and asks no other host. */
import { describe, expect } from "vitest";
import { it } from "./support/browser.ts";
import { findingsOf } from "./support/flaws.ts";

type Operations = Record<string, { operationId: string; summary: string }>;

/** An operation's address opens Redoc's menu where there is room for one, and axe objects to the names of open entries. */
describe.each([
  { width: 390, theme: "light", address: "#tag/Models/operation/listModels" },
  { width: 1440, theme: "dark", address: "" },
])("the API reference, $width pixels wide, $theme by the reader's choice", ({ width, theme, address }) => {
  it("shows every operation in our colours, from here alone, axe clean", async ({ stack, browser }) => {
    const { base_url: base, app_url } = stack.info;
    const answered: string[] = [];
    const failures: string[] = [];
    const colorScheme = theme === "dark" ? "light" : "dark";
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
    await page.context().addCookies([{ name: "theme", value: theme, url: base }]);
    const colours = () =>
      page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]");
    await page.goto(`${app_url}/models`);
    const expected = await colours();
    page.on("response", (response) => answered.push(new URL(response.url()).origin));
    page.on("pageerror", (error) => failures.push(error.message));

    await page.goto(`${base}/docs/reference${address}`);
    await page.getByRole("heading", { name: "Generate a reply" }).waitFor();
    const { paths } = (await (await fetch(`${base}/openapi.json`)).json()) as { paths: Record<string, Operations> };
    for (const { summary } of Object.values(paths).flatMap((operations) => Object.values(operations))) {
      expect(await page.locator("h2", { hasText: summary }).count(), summary).toBeGreaterThan(0);
    }
    if (address !== "") await expect.poll(() => topOf("List models")).toBeLessThan(200);
    expect(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")).toBeLessThanOrEqual(0);
    expect(new Set(answered)).toEqual(new Set([new URL(base).origin]));
    expect(failures).toEqual([]);
    expect(await colours()).toEqual(expected);
    expect(await findingsOf(page)).toEqual([]);
    await page.close();

    async function topOf(name: string): Promise<number> {
      const box = await page.locator("h2", { hasText: name }).first().boundingBox();
      return Math.abs(box?.y ?? Number.POSITIVE_INFINITY);
    }
  });
});
