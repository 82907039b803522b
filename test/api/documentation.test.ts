/** The documentation site: complete, reachable, and free of anything from elsewhere. */
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../api/errors.ts";
import { PATHS } from "../../shared/web-paths.ts";
import { apiClient, chat } from "../support/api-client.ts";
import { sharedStack } from "../support/shared-fixtures.ts";

const stack = await sharedStack("service");

const PAGES = ["/docs", "/docs/reference", "/docs/errors", "/docs/search?q=retry"];

const get = (path: string) => fetch(`${stack.info.base_url}${path}`);

describe("the docs link of an error", () => {
  it("leads to a page that has the code, with cause, fix and whether to retry", async () => {
    const { docs } = (await apiClient(stack).post("/v1/chat/completions", chat("gpt-none", "Hello"))).body.error;
    const response = await fetch(docs);
    expect(response.status).toBe(200);
    expect(sectionOf(await response.text(), new URL(docs).hash.slice(1))).toMatch(/Status 400/);
  });

  it("has a section for every code of the API", async () => {
    const text = await (await get("/docs/errors")).text();
    for (const code of ERROR_CODES) {
      const section = sectionOf(text, code);
      for (const title of ["Cause", "What to do", "Retry"])
        expect(section, code).toMatch(new RegExp(`${title}</dt><dd>[^<]{4}`));
    }
  });
});

describe("the pages", () => {
  it.each(PAGES)("%s needs no key, and loads nothing from elsewhere", async (path) => {
    const response = await get(path);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';/,
    );
    const text = await response.text();
    expect(text).not.toMatch(/<script>|\son\w+=|\sstyle=|<img|<iframe|@import/);
    for (const [, address] of text.matchAll(/<(?:link|script)[^>]+(?:href|src)="([^"]+)"/g))
      expect(address).toMatch(/^\/docs\/(?:style\.css|reader\.mjs)$/);
  });

  it("lead to each other: every link inside the site has its target", async () => {
    const texts = new Map<string, string>();
    for (const path of PAGES) texts.set(path, await (await get(path)).text());
    // The description, and the application's front door.
    for (const path of ["/openapi.json", "/", ...Object.values(PATHS)]) texts.set(path, "");
    for (const [path, text] of texts) {
      const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
      expect(new Set(ids).size, `ids on ${path}`).toBe(ids.length);
    }
    for (const path of PAGES) {
      for (const [, link] of (texts.get(path) as string).matchAll(/href="((?:\/|#)[^"]*)"/g)) {
        const [target = "", hash] = (link as string).split("#");
        if (target.endsWith(".css") || target.startsWith("/docs/theme/")) continue;
        const page = texts.get(target === "" ? path : target);
        expect(page, `${link} on ${path}`).toBeDefined();
        if (hash) expect(page, `${link} on ${path}`).toContain(`id="${hash}"`);
      }
    }
  });

  it.each([
    ["dark", "/docs/errors", "/docs/errors", "theme=dark; Path=/; SameSite=Lax; Max-Age=31536000"],
    ["system", "https://elsewhere.example", "/docs", "theme=system; Path=/; SameSite=Lax; Max-Age=0"],
  ])("are %s by a link, which leads back to a page of theirs alone", async (theme, from, to, cookie) => {
    const path = `/docs/theme/${theme}?from=${encodeURIComponent(from)}`;
    const response = await fetch(`${stack.info.base_url}${path}`, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([303, to]);
    expect(response.headers.get("set-cookie")).toBe(cookie);
  });

  it("say which of light and dark was chosen, and have no other theme", async () => {
    const page = await fetch(`${stack.info.base_url}/docs`, { headers: { cookie: "theme=dark" } });
    expect(await page.text()).toMatch(/from=\/docs" aria-current="true">dark</);
    expect((await get("/docs/theme/blue")).status).toBe(404);
  });

  it("the guide says what is kept how long, and what requests cost", async () => {
    const text = await (await get("/docs")).text();
    expect(sectionOf(text, "retention")).toMatch(/24 hours, then erased/);
    expect(sectionOf(text, "charging")).toMatch(/3,000 tokens<\/td>\s*<td>60<\/td>\s*<td>20/);
    for (const id of [
      "start",
      "streaming",
      "verify",
      "disputes",
      "idempotency",
      "authorization",
      "webhooks",
      "errors",
    ]) {
      expect(sectionOf(text, id), id).toMatch(/<h2>/);
    }
  });

  it("the guide names this service: every placeholder is filled in", async () => {
    const text = await (await get("/docs")).text();
    expect(text).toContain(`${stack.info.base_url}/v1/chat/completions`);
    expect(text).not.toContain("{{");
  });

  it.each(["/docs", "/docs/reference", "/docs/errors", "/docs/reader.mjs", "/openapi.json", "/docs/style.css"])(
    "%s is sent compressed, and once to each reader",
    async (path) => {
      const first = await get(path);
      expect([first.status, first.headers.get("content-encoding")]).toEqual([200, "gzip"]);
      expect(first.headers.get("vary")?.toLowerCase()).toContain("accept-encoding");
      const etag = first.headers.get("etag") ?? "";
      const again = await fetch(`${stack.info.base_url}${path}`, {
        // Without the second one, `fetch` asks for a new copy.
        headers: { "if-none-match": etag, "cache-control": "max-age=0" },
      });
      expect([again.status, await again.text()]).toEqual([304, ""]);
      const plain = await fetch(`${stack.info.base_url}${path}`, { headers: { "accept-encoding": "identity" } });
      expect([plain.headers.get("content-encoding"), await plain.text()]).toEqual([null, await first.text()]);
    },
  );

  it("another theme is another page", async () => {
    const etag = (await get("/docs")).headers.get("etag") ?? "";
    const headers = { cookie: "theme=dark", "if-none-match": etag, "cache-control": "max-age=0" };
    expect((await fetch(`${stack.info.base_url}/docs`, { headers })).status).toBe(200);
  });

  it("the reference shows each operation, event and field of the OpenAPI document", async () => {
    type Operation = { operationId: string; tags: string[]; summary: string; parameters?: { name: string }[] };
    type Document = Record<"paths" | "webhooks", Record<string, Record<string, Operation>>> & {
      components: { schemas: Record<string, { properties?: object }> };
    };
    const text = await (await get("/docs/reference")).text();
    const { paths, webhooks, components } = (await (await get("/openapi.json")).json()) as Document;
    for (const operations of [...Object.values(paths), ...Object.values(webhooks)]) {
      for (const { operationId, tags, summary, parameters = [] } of Object.values(operations)) {
        const [, section = ""] = text.split(`<section id="tag/${tags[0]}/operation/${operationId}">`);
        expect(section).toContain(summary);
        for (const { name } of parameters) expect(section, operationId).toContain(`<dt><code>${name}</code>`);
      }
    }
    // Each operation links its errors, which have a page of their own.
    const { Error: _, ...schemas } = components.schemas;
    for (const [name, { properties = {} }] of Object.entries(schemas)) {
      for (const field of Object.keys(properties)) expect(text, name).toContain(`<code>${field}</code>`);
    }
    expect(text).not.toMatch(/undefined|\[object/);
  });

  it.each([
    ["idempotency", "/docs#idempotency"],
    ["insufficient", "/docs/errors#insufficient_credits"],
    ["list webhooks", "/docs/reference#tag/Webhooks/operation/listWebhooks"],
    // A word with a slip, and one that is not yet complete.
    ["webhoks", "/docs#webhooks"],
    ["dispu", "/docs#disputes"],
  ])("the search finds what stands about %s", async (asked, href) => {
    const text = await (await get(`/docs/search?q=${encodeURIComponent(asked)}`)).text();
    expect(text).toContain(`<a href="${href}">`);
  });

  it.each([
    ["<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"],
    ["(", "("],
    ["x".repeat(5_000), "x".repeat(100)],
  ])("the search answers %.20s as text, and has no more of it than 100 characters", async (asked, shown) => {
    const response = await get(`/docs/search?q=${encodeURIComponent(asked)}`);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(`<p role="status">Nothing was found for “${shown}”.</p>`);
  });

  it("the OpenAPI document names this service", async () => {
    const document = (await (await get("/openapi.json")).json()) as { servers: unknown };
    expect(document.servers).toEqual([{ url: stack.info.base_url, description: "This service" }]);
  });
});

function sectionOf(text: string, id: string): string {
  return text.split(`<section id="${id}">`)[1]?.split("</section>")[0] ?? "";
}
