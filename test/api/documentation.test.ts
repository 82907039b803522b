/** The documentation site: complete, reachable, and free of anything from elsewhere. */
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../api/errors.ts";
import { PATHS } from "../../shared/web-paths.ts";
import { apiClient, chat } from "../support/api-client.ts";
import { sharedStack } from "../support/shared-fixtures.ts";

const stack = await sharedStack("service");

const PAGES = ["/docs", "/docs/errors"];

type Document = {
  paths: Record<string, Record<string, { operationId: string; tags: string[] }>>;
  tags: { name: string }[];
};

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
  it.each(PAGES)("%s needs no key, runs nothing and loads nothing from elsewhere", async (path) => {
    const response = await get(path);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'self';/);
    const text = await response.text();
    expect(text).not.toMatch(/<script|\son\w+=|\sstyle=|<img|<iframe|@import/);
    for (const [, address] of text.matchAll(/<link[^>]+href="([^"]+)"/g)) expect(address).toMatch(/^\/docs\//);
  });

  it("lead to each other: every link inside the site has its target", async () => {
    const texts = new Map<string, string>();
    for (const path of PAGES) texts.set(path, await (await get(path)).text());
    // Redoc's addresses: #tag/<tag>/operation/<operationId>, #tag/<tag>.
    const { paths, tags } = (await (await get("/openapi.json")).json()) as Document;
    const addresses = tags.map(({ name }) => `tag/${name}`);
    for (const { tags, operationId } of Object.values(paths).flatMap((operations) => Object.values(operations)))
      addresses.push(`tag/${tags[0]}/operation/${operationId}`);
    texts.set("/docs/reference", addresses.map((address) => `id="${address}"`).join("\n"));
    // The description, and the application's front door.
    for (const path of ["/openapi.json", "/", ...Object.values(PATHS)]) texts.set(path, "");
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

  it.each([...PAGES, "/openapi.json", "/docs/style.css"])(
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

  it("the OpenAPI document names this service", async () => {
    const document = (await (await get("/openapi.json")).json()) as { servers: unknown };
    expect(document.servers).toEqual([{ url: stack.info.base_url, description: "This service" }]);
  });
});

function sectionOf(text: string, id: string): string {
  return text.split(`<section id="${id}">`)[1]?.split("</section>")[0] ?? "";
}
