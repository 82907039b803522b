/** How much a visitor's browser has to load before it shows something. */
import { readFileSync } from "node:fs";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect } from "vitest";
import { describeInBrowser, it } from "./support/browser.ts";

/** Bytes of the page, its scripts and its styles, each as gzip leaves it. */
const MOST = 120_000;

const weightOf = (name: string): number =>
  readFileSync(new URL(`../../web/dist/assets/${name}.gz`, import.meta.url)).length;

describeInBrowser("the first view", () => {
  it.for(["/..", "/models", "/workers", "/explorer", "/disputes", "/workers/1", "/operators/1", "/block/1"])(
    "of /app%s weighs 120 kB at most",
    async (path, { open }) => {
      const visitor = await open(privateKeyToAccount(generatePrivateKey()));
      const names: string[] = [];
      visitor.page.on("response", (response) => {
        const [, name] = /\/assets\/([\w.-]+\.(?:js|css))$/.exec(response.url()) ?? [];
        if (name !== undefined) names.push(name);
      });
      await visitor.go(path);
      await visitor.page.locator("h1").waitFor();
      await visitor.page.waitForLoadState("networkidle");
      expect(names).not.toEqual([]);
      const weights = Object.fromEntries(names.map((name) => [name, weightOf(name)]));
      const total = Object.values(weights).reduce((sum, one) => sum + one, 0);
      console.log(`First view of /app${path}: ${total} bytes, gzip`);
      expect(total, JSON.stringify(weights)).toBeLessThan(MOST);
      await visitor.close();
    },
  );

  // What these pages show is read and checked in the browser, with code that comes after their head.
  it.for(["governance"])("of %s waits for 120 kB at most", (page) => {
    type Chunk = { file: string; css?: string[]; imports?: string[] };
    const manifest = readFileSync(new URL("../../web/dist/manifest.json", import.meta.url), "utf8");
    const chunks = JSON.parse(manifest) as Record<string, Chunk>;
    const files = new Set<string>();
    const need = (name: string): void => {
      const { file, css = [], imports = [] } = chunks[name] as Chunk;
      if (files.has(file)) return;
      for (const one of [file, ...css]) files.add(one);
      imports.forEach(need);
    };
    need("index.html");
    need(`src/pages/${page}.tsx`);
    const weights = [...files].map((file) => weightOf(file.replace("assets/", "")));
    expect(weights.reduce((sum, one) => sum + one)).toBeLessThan(MOST);
  });

  it("of the front page names all its scripts in the page, so that none waits for another one", async ({ stack }) => {
    const { base_url } = stack.info;
    const html = await (await fetch(base_url, { headers: { accept: "text/html" } })).text();
    const scripts = [...html.matchAll(/(?:src|href)="(\/app\/assets\/[\w.-]+\.js)"/g)].map(([, path]) => path ?? "");
    expect(scripts.some((path) => path.startsWith("/app/assets/front-"))).toBe(true);
    for (const path of scripts) expect((await fetch(base_url + path)).status, path).toBe(200);
  });
});
