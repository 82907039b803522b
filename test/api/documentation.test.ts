/** The documentation site: complete, reachable, and free of anything from elsewhere. */
import { beforeAll, describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../api/errors.ts";
import { apiClient, chat } from "../support/api-client.ts";
import { type SharedStack, sharedStack } from "../support/shared-stack.ts";

let stack: SharedStack;

beforeAll(async () => {
  stack = await sharedStack("service");
});

const PAGES = ["/docs", "/docs/reference", "/docs/errors"];

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
    for (const [path, text] of texts) {
      for (const [, link] of text.matchAll(/href="((?:\/|#)[^"]*)"/g)) {
        const [target = "", hash] = (link as string).split("#");
        const page = target === "" ? path : target;
        if (hash) expect(texts.get(page), `${link} on ${path}`).toContain(`id="${hash}"`);
        else expect((await get(page)).status, `${link} on ${path}`).toBe(200);
      }
    }
  });

  it("the guide says what is kept how long, and what requests cost", async () => {
    const text = await (await get("/docs")).text();
    expect(sectionOf(text, "retention")).toMatch(/24 hours, then erased/);
    expect(sectionOf(text, "charging")).toMatch(/3,000 tokens<\/td><td>60<\/td><td>20/);
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

  it("the reference shows every operation", async () => {
    const document = JSON.parse(await (await get("/openapi.json")).text());
    const text = await (await get("/docs/reference")).text();
    expect(document.servers).toEqual([{ url: stack.info.base_url, description: "This service" }]);
    for (const operations of Object.values<Record<string, { operationId: string }>>(document.paths)) {
      for (const { operationId } of Object.values(operations)) expect(text).toContain(`<section id="${operationId}">`);
    }
  });
});

function sectionOf(text: string, id: string): string {
  return text.split(`<section id="${id}">`)[1]?.split("</section>")[0] ?? "";
}
