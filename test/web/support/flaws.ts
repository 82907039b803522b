/** What keeps somebody from using a page: by day on a wide screen, and by night on a phone. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** axe looks at the first width. */
const LOOKS = [
  { colorScheme: "light", widths: [1280, 768] },
  { colorScheme: "dark", widths: [390] },
] as const;

/** The page becomes each of them in turn, and what it was. Returns the findings of axe, and what leaves the page. */
export async function flawsOf(page: Page): Promise<string[]> {
  const size = page.viewportSize();
  const flaws: string[] = [];
  for (const { colorScheme, widths } of LOOKS) {
    await page.emulateMedia({ colorScheme });
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      const found = width === widths[0] ? await findingsOf(page) : [];
      const all = [...found, ...(await hangingOver(page, width < 640))];
      flaws.push(...all.map((flaw) => `${colorScheme}, ${width} pixels wide: ${flaw}`));
    }
  }
  await page.emulateMedia({ colorScheme: null });
  if (size !== null) await page.setViewportSize(size);
  return flaws;
}

/** Findings of axe on the page as it is, serious and critical ones. */
export async function findingsOf(page: Page): Promise<string[]> {
  // It takes as long to load as to run.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
  const { violations } = (await page.evaluate(`axe.run({ resultTypes: ["violations"] })`)) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  };
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** What leaves its card. What scrolls in its place, or is drawn, may be wider. */
const BEYOND = `[...document.querySelectorAll(".card")].flatMap((card) => {
  const edge = card.getBoundingClientRect().right - parseFloat(getComputedStyle(card).paddingRight);
  return [...card.querySelectorAll("*")]
    .filter((one) => one.closest(".scroll, pre, svg, .visually-hidden") === null)
    .filter((one) => one.getBoundingClientRect().right > edge + 1)
    .map((one) => one.tagName + " " + one.textContent.slice(0, 40));
})`;

/**
 * What leaves the page or its card, if it does not scroll there. Rows of figures that are not full, and columns that are not shown. On a phone,
 * rows higher than one line.
 */
async function hangingOver(page: Page, isPhone: boolean): Promise<string[]> {
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
  const beyond = (await page.evaluate(BEYOND)) as string[];
  return [
    ...beyond.map((what) => `${what}, beyond the edge of its card`),
    ...holes.filter((wide) => wide > 2).map((wide) => `a hole of ${wide} pixels beside the figures`),
    ...(over > 0 ? [`the page, by ${over} pixels`] : []),
    ...tables.filter(({ wide }) => wide > 0).map(({ wide }) => `a table, by ${wide} pixels`),
    ...tables.flatMap(({ hidden }) => hidden.map((name) => `the column ${name} is hidden`)),
    ...tables.filter(({ high }) => isPhone && high > 48).map(({ high }) => `a row of ${high} pixels`),
  ];
}
