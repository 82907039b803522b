/** The API reference in a browser: Redoc shows every operation under our policy, and asks no other host. */
import { expect } from "vitest";
import { describeInBrowser, it } from "./support/browser.ts";
import { findingsOf } from "./support/visitor.ts";

type Operations = Record<string, { operationId: string; summary: string }>;

describeInBrowser.each([390, 1440])("the API reference, %i pixels wide", (width) => {
  it("shows every operation, loads nothing from elsewhere, and its addresses lead to the operation", async ({
    stack,
    browser,
  }) => {
    const base = stack.info.base_url;
    const answered: string[] = [];
    const failures: string[] = [];
    const page = await browser.newPage({ viewport: { width, height: 900 } });
    page.on("response", (response) => answered.push(new URL(response.url()).origin));
    page.on("pageerror", (error) => failures.push(error.message));

    await page.goto(`${base}/docs/reference#tag/Models/operation/listModels`);
    await page.getByRole("heading", { name: "Generate a reply" }).waitFor();
    const { paths } = (await (await fetch(`${base}/openapi.json`)).json()) as { paths: Record<string, Operations> };
    for (const { summary } of Object.values(paths).flatMap((operations) => Object.values(operations))) {
      expect(await page.locator("h2", { hasText: summary }).count(), summary).toBeGreaterThan(0);
    }
    await expect.poll(() => topOf("List models")).toBeLessThan(200);
    expect(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")).toBeLessThanOrEqual(0);
    expect(new Set(answered)).toEqual(new Set([new URL(base).origin]));
    expect(failures).toEqual([]);
    await page.close();

    async function topOf(name: string): Promise<number> {
      const box = await page.locator("h2", { hasText: name }).first().boundingBox();
      return Math.abs(box?.y ?? Number.POSITIVE_INFINITY);
    }
  });
});

describeInBrowser.each(["light", "dark"])("the API reference, %s by the reader's choice", (theme) => {
  it("has the application's colours, and axe finds nothing serious", async ({ stack, browser }) => {
    const page = await browser.newPage({ colorScheme: theme === "dark" ? "light" : "dark" });
    const { base_url, app_url } = stack.info;
    await page.context().addCookies([{ name: "theme", value: theme, url: base_url }]);
    const colours = () =>
      page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]");
    await page.goto(`${app_url}/models`);
    const expected = await colours();
    await page.goto(`${base_url}/docs/reference`);
    await page.getByRole("heading", { name: "Generate a reply" }).waitFor();
    expect(await colours()).toEqual(expected);
    expect(await findingsOf(page)).toEqual([]);
    await page.close();
  });
});
