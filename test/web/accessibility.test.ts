/** Whether everyone can use the application: axe on each page, by day on a wide screen and by night on a phone. */
import { expect } from "vitest";
import { chat } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { MODEL } from "./global-setup.ts";
import { describeInBrowser, it } from "./support/browser.ts";
import type { Look } from "./support/visitor.ts";

const PAGES = [
  "/..",
  "/",
  "/fund",
  "/jobs",
  "/webhooks",
  "/settings",
  "/models",
  "/workers",
  "/workers/1",
  "/operators/1",
  "/explorer",
];

/** Pixels. */
const ONE_LINE = 48;

describeInBrowser.each<Look>([
  { colorScheme: "light", width: 1280 },
  { colorScheme: "dark", width: 390 },
])("$colorScheme, $width pixels wide", (look) => {
  let client: Client;
  it.beforeAll(async ({ stack }) => {
    const database = openStore(stack);
    client = await Client.funded(stack, database, 100);
    await database.end();
  });

  it("axe finds nothing serious on any page, and nothing hangs over the edge", async ({ open }) => {
    const { headers } = await client.api.post("/v1/chat/completions", chat(MODEL, "Say hello."));
    const reader = await open(client.account, look);
    const found: Record<string, string[]> = {};
    const check = async (path: string) => {
      await reader.page.locator(".skeleton").first().waitFor({ state: "detached" });
      const findings = await reader.findings();
      if (findings.length > 0) found[path] = findings;
      const over = Number(await reader.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"));
      if (over > 0) found[`${path} is too wide`] = [`${over} pixels`];
      // Two lines of a row's text and its padding are higher.
      const tall = reader.page.locator(".table:not(.visually-hidden) tbody tr").filter({ visible: true });
      const heights = await tall.evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));
      if (heights.some((height) => height > ONE_LINE)) found[`${path} has rows of several lines`] = heights.map(String);
    };
    await reader.go("/");
    await reader.page.getByRole("button", { name: /^Sign in with/ }).waitFor();
    await check("signing in");
    await reader.press(/^Sign in with/);
    await reader.sees("Latest jobs");
    const jobId = headers.get("x-service-job-id");
    const own = [`/jobs/${jobId}`, `/tx/${headers.get("x-service-tx-hash")}`, `/address/${client.account.address}`];
    for (const path of [...PAGES, `/models/${MODEL}`, "/block/1", ...own]) {
      await reader.go(path);
      await reader.page.locator("h1").waitFor();
      await check(path);
    }
    await reader.page.keyboard.press("Control+k");
    await reader.page.getByRole("combobox").fill("qwen");
    await reader.page.getByRole("option").first().waitFor();
    await check("the search");
    expect(found).toEqual({});
  });
});
