/** Whether everyone can use the application: axe on each page, by day on a wide screen and by night on a phone. */
import { expect } from "vitest";
import { chat } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { MODEL } from "./global-setup.ts";
import { describeInBrowser, it } from "./support/browser.ts";
import type { Visitor } from "./support/visitor.ts";

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
  "/disputes",
  "/governance",
];

/**
 * What leaves the page or its card, if it does not scroll there. Rows of figures that are not full, and columns that are not shown. On a phone,
 * rows higher than one line.
 */
async function hangingOver({ page }: Visitor, isPhone: boolean): Promise<string[]> {
  const over = Number(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth"));
  const tables = await page.locator(".table").evaluateAll((all) =>
    all.map((table) => {
      const rows = [...table.querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect().height);
      const wide = table.getBoundingClientRect().right - (table.parentElement?.getBoundingClientRect().right ?? 0);
      const isShown = table.getBoundingClientRect().width > 0;
      const hidden = [...table.querySelectorAll("th")].filter((cell) => cell.getBoundingClientRect().width === 0);
      return {
        wide: table.closest(".scroll") === null ? Math.round(wide) : 0,
        high: Math.max(...rows),
        hidden: isShown ? hidden.map(({ textContent }) => textContent) : [],
      };
    }),
  );
  const holes = await page.locator(".figures").evaluateAll((all) =>
    all.map((one) => {
      const last = one.lastElementChild?.getBoundingClientRect().right ?? 0;
      return Math.round(one.getBoundingClientRect().right - last);
    }),
  );
  return [
    ...holes.filter((wide) => wide > 2).map((wide) => `a hole of ${wide} pixels beside the figures`),
    ...(over > 0 ? [`the page, by ${over} pixels`] : []),
    ...tables.filter(({ wide }) => wide > 0).map(({ wide }) => `a table, by ${wide} pixels`),
    ...tables.flatMap(({ hidden }) => hidden.map((name) => `the column ${name} is hidden`)),
    ...tables.filter(({ high }) => isPhone && high > 48).map(({ high }) => `a row of ${high} pixels`),
  ];
}

/** The page becomes each of them in turn. axe looks at the first width. */
const LOOKS = [
  { colorScheme: "light", widths: [1280, 768] },
  { colorScheme: "dark", widths: [390] },
] as const;

describeInBrowser("every page, by day on a wide screen and by night on a phone", () => {
  let client: Client;
  it.beforeAll(async ({ stack }) => {
    const database = openStore(stack);
    client = await Client.funded(stack, database, 100);
    await database.end();
  });

  it("axe finds nothing serious on any page, and nothing hangs over the edge", async ({ open }) => {
    const { headers } = await client.api.post("/v1/chat/completions", chat(MODEL, "Say hello."));
    const reader = await open(client.account);
    const { page } = reader;
    const found: Record<string, string[]> = {};
    const check = async (path: string) => {
      await page.locator(".skeleton").first().waitFor({ state: "detached" });
      for (const { colorScheme, widths } of LOOKS) {
        await page.emulateMedia({ colorScheme });
        for (const width of widths) {
          await page.setViewportSize({ width, height: 900 });
          const findings = width === widths[0] ? await reader.findings() : [];
          const all = [...findings, ...(await hangingOver(reader, width < 640))];
          if (all.length > 0) found[`${path}, ${colorScheme}, ${width} pixels wide`] = all;
        }
      }
    };
    await reader.go("/");
    await page.getByRole("button", { name: /^Sign in with/ }).waitFor();
    await check("signing in");
    await reader.press(/^Sign in with/);
    await reader.sees("Latest jobs");
    const jobId = headers.get("x-service-job-id");
    const own = [`/jobs/${jobId}`, `/tx/${headers.get("x-service-tx-hash")}`, `/address/${client.account.address}`];
    for (const path of [...PAGES, `/models/${MODEL}`, "/block/1", ...own]) {
      await reader.go(path);
      await page.locator("h1").waitFor();
      await check(path);
    }
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").fill("qwen");
    await page.getByRole("option").first().waitFor();
    await check("the search");
    expect(found).toEqual({});
  });
});
