/** Every page: what a browser loads before it shows something, and whether everyone can use it. */
import { readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { PATHS } from "../../shared/web-paths.ts";
import { chat } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { it as base } from "./support/browser.ts";
import { MODEL } from "./support/web-stack.ts";

/** Bytes of the page, its scripts and its styles, each as gzip leaves it. */
const MOST = 120_000;
/** Some are decoded in the browser; governance is read there from a node, too. */
const PUBLIC =
  "/.. /models /workers /explorer /explorer/jobs /explorer/transactions /status /disputes /workers/1 /operators/1 /block/1 /governance /models/:model /tx/:tx /address/:wallet";
const OWN = "/ /fund /jobs /statement /webhooks /settings /jobs/:job";

const weightOf = (name: string): number =>
  readFileSync(new URL(`../../web/dist/assets/${name}.gz`, import.meta.url)).length;

/** `reader`: somebody with credits and one job, who has not signed in. `owner`: the same, who has. One window for all pages. */
const it = base
  .extend("reader", { scope: "file" }, async ({ stack, open }) => {
    const database = openStore(stack);
    const client = await Client.funded(stack, database, 100);
    await database.end();
    const { headers } = await client.api.post("/v1/chat/completions", chat(MODEL, "Say hello."));
    const visitor = await open(client.account);
    const { page } = visitor;
    const loaded = new Set<string>();
    page.on("response", (response) => {
      const [, name] = /\/assets\/([\w.-]+\.(?:js|css))$/.exec(response.url()) ?? [];
      // The front page audits a job once it is idle, in a worker beside the page.
      if (name !== undefined && !name.startsWith("audit-")) loaded.add(name);
    });
    const names: Record<string, string | null> = {
      model: MODEL,
      tx: headers.get("x-service-tx-hash"),
      wallet: client.account.address,
      job: headers.get("x-service-job-id"),
    };
    return {
      visitor,
      page,
      /** Scripts and styles of the page gone to. */
      loaded,
      go: async (path: string) => {
        loaded.clear();
        await visitor.go(path.replace(/:(\w+)/, (_, name) => String(names[name])));
      },
      hasNoFlaw: async () => {
        await page.locator(".skeleton").first().waitFor({ state: "detached" });
        expect(await visitor.flaws()).toEqual([]);
      },
    };
  })
  .extend("owner", { scope: "file" }, async ({ reader }) => {
    await reader.visitor.signIn();
    return reader;
  });

describe("the bar above every page", () => {
  it.for([
    ["/models/:model", "Models"],
    ["/workers/1", "Network"],
    ["/operators/1", "Network"],
    ["/disputes", "Network"],
    ["/governance", "Network"],
    ["/explorer/jobs", "Explorer"],
    ["/jobs/:job", "Explorer"],
    ["/tx/:tx", "Explorer"],
    ["/block/1", "Explorer"],
    ["/address/:wallet", "Explorer"],
  ] as const)("marks for %s that it is part of %s", async ([path, place], { reader }) => {
    await reader.go(path);
    await expect.poll(() => reader.page.locator("nav [aria-current=page]").allTextContents()).toEqual([place]);
  });
});

describe("axe finds nothing serious by day and night, and nothing hangs over the edge", () => {
  it.for(PUBLIC.split(" "))(
    "of %s, which loads 120 kB at most",
    async (path, { reader: { page, loaded, ...reader } }) => {
      await reader.go(path);
      await page
        .locator(path === "/.." ? "h1" : ".card, .table")
        .first()
        .waitFor();
      await page.waitForLoadState("networkidle");
      const weights = Object.fromEntries([...loaded].map((name) => [name, weightOf(name)]));
      const total = Object.values(weights).reduce((sum, one) => sum + one, 0);
      console.log(`First view of /app${path}: ${total} bytes, gzip`);
      // The page's own script and style, at least.
      expect(loaded.size).toBeGreaterThanOrEqual(2);
      expect(total, JSON.stringify(weights)).toBeLessThanOrEqual(MOST);
      await reader.hasNoFlaw();
    },
  );

  it("of the page that asks to sign in", async ({ reader }) => {
    await reader.go("/");
    await reader.page.getByRole("button", { name: /^Sign in with/ }).waitFor();
    await reader.hasNoFlaw();
  });

  it.for(OWN.split(" "))("of one's own %s", async (path, { owner }) => {
    await owner.go(path);
    await owner.page.locator("h1").waitFor();
    await owner.hasNoFlaw();
  });

  it("of the search", async ({ owner: { page, ...owner } }) => {
    await owner.go("/");
    await page.locator("h1").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").fill("qwen");
    await page.getByRole("option").first().waitFor();
    await owner.hasNoFlaw();
  });
});

describe("the first view", () => {
  // A job's facts, and a dispute with the check of its signatures: the verdict and the code for wallets come after them. A wallet's own
  // pages as it sees them: what sends its transactions comes when it acts.
  const OWN = "overview fund jobs statement webhooks webhook settings my-workers my-worker".split(" ");
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

  /** Status of each script. Pages share most of them, and asked for by every page they would be more than an address may ask for in a second. */
  const asked = new Map<string, Promise<number>>();
  it.for(Object.entries(PATHS))(
    "of the page %s names all its scripts, so that none waits for another one",
    async ([name, path], { stack }) => {
      const { base_url } = stack.info;
      const html = await (await fetch(base_url + path, { headers: { accept: "text/html" } })).text();
      const scripts = [...html.matchAll(/(?:src|href)="(\/app\/assets\/[\w.-]+\.js)"/g)].map(([, path]) => path ?? "");
      expect(scripts.some((one) => new RegExp(`/(?:${name}|own-pages)-`).test(one))).toBe(true);
      for (const one of scripts) {
        if (!asked.has(one))
          asked.set(
            one,
            fetch(base_url + one).then(({ status }) => status),
          );
        expect(await asked.get(one), one).toBe(200);
      }
    },
  );
});
