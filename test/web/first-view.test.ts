/** How much a visitor's browser has to load before it shows something. */
import { readFileSync } from "node:fs";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect } from "vitest";
import { PATHS } from "../../shared/web-paths.ts";
import { describeInBrowser, it } from "./support/browser.ts";

/** Bytes of the page, its scripts and its styles, each as gzip leaves it. */
const MOST = 120_000;

const weightOf = (name: string): number =>
  readFileSync(new URL(`../../web/dist/assets/${name}.gz`, import.meta.url)).length;

describeInBrowser("the first view", () => {
  // The last three are decoded in the browser; governance is read there from a node, too.
  const VIEWS =
    "/.. /models /workers /explorer /disputes /workers/1 /operators/1 /block/1 /address/… /tx/… /governance";

  it.for(VIEWS.split(" "))("of /app%s weighs 120 kB at most", async (path, { stack, open }) => {
    const visitor = await open(privateKeyToAccount(generatePrivateKey()));
    const names: string[] = [];
    visitor.page.on("response", (response) => {
      const [, name] = /\/assets\/([\w.-]+\.(?:js|css))$/.exec(response.url()) ?? [];
      if (name !== undefined) names.push(name);
    });
    const latest = await fetch(`${stack.info.app_url}/api/explorer/latest`);
    const { transactions } = (await latest.json()) as { transactions: { hash: string }[] };
    const known = path.startsWith("/tx")
      ? (transactions[0]?.hash as string)
      : (stack.info.contracts["InferenceEscrow"] as string);
    await visitor.go(path.replace("…", known));
    await visitor.page
      .locator(path === "/.." ? "h1" : ".card, .table")
      .first()
      .waitFor();
    await visitor.page.waitForLoadState("networkidle");
    expect(names).not.toEqual([]);
    const weights = Object.fromEntries(names.map((name) => [name, weightOf(name)]));
    const total = Object.values(weights).reduce((sum, one) => sum + one, 0);
    console.log(`First view of /app${path}: ${total} bytes, gzip`);
    expect(total, JSON.stringify(weights)).toBeLessThan(MOST);
    await visitor.close();
  });

  // A job's facts, and a dispute with the check of its signatures: the verdict and the code for wallets come after them. A wallet's own
  // pages as it sees them: what sends its transactions comes when it acts.
  const OWN = "overview fund jobs webhooks webhook settings my-workers my-worker".split(" ");
  const WAITING = ["pages/job", "pages/dispute pages/dispute/evidence"];
  it.for([...WAITING, ...OWN.map((name) => `wallet/own-pages pages/${name}`)])(
    "of %s waits for 120 kB at most",
    (names) => {
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
      for (const name of ["index.html", ...names.split(" ").map((one) => `src/${one}`)]) {
        need([name, `${name}.tsx`, `${name}.ts`].find((one) => one in chunks) as string);
      }
      const total = [...files].reduce((sum, file) => sum + weightOf(file.replace("assets/", "")), 0);
      console.log(`First view of ${names}: ${total} bytes, gzip`);
      expect(total).toBeLessThan(MOST);
    },
  );

  it.for(Object.entries(PATHS))(
    "of the page %s names all its scripts, so that none waits for another one",
    async ([name, path], { stack }) => {
      const { base_url } = stack.info;
      const html = await (await fetch(base_url + path, { headers: { accept: "text/html" } })).text();
      const scripts = [...html.matchAll(/(?:src|href)="(\/app\/assets\/[\w.-]+\.js)"/g)].map(([, path]) => path ?? "");
      expect(scripts.some((one) => new RegExp(`/(?:${name}|own-pages)-`).test(one))).toBe(true);
      for (const one of scripts) expect((await fetch(base_url + one)).status, one).toBe(200);
    },
  );
});
