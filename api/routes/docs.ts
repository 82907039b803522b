import { readFileSync } from "node:fs";
import { type RequestHandler, Router } from "express";
import type { Config } from "../config.ts";
import { errorsPage } from "../docs/errors-page.ts";
import { guidePage } from "../docs/guide/page.ts";
import { referencePage } from "../docs/reference/page.ts";
import { siteOf } from "../docs/site.ts";
import { openApiDocument } from "../openapi/document.ts";

/** Nothing on these pages runs, and nothing comes from another host. */
const CSP = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const STYLE = readFileSync(new URL("../docs/style.css", import.meta.url), "utf8");

/**
 * The documentation site: `/docs` (guide), `/docs/reference`, `/docs/errors#<code>` where every error body's `docs` link leads,
 * and `/openapi.json`. Open to everybody; rendered once, at the start.
 */
export function docsRoutes(config: Config, operator: number): Router {
  const site = siteOf(config, operator);
  const routes = Router()
    .get("/docs", send("html", guidePage(site)))
    .get("/docs/reference", send("html", referencePage(site)))
    .get("/docs/errors", send("html", errorsPage()))
    .get("/docs/style.css", send("css", STYLE));
  return routes.get("/openapi.json", send("json", JSON.stringify(openApiDocument(site.baseUrl)), { cors: true }));
}

function send(type: "html" | "css" | "json", text: string, { cors = false } = {}): RequestHandler {
  return (_request, response) => {
    response.setHeader("content-security-policy", CSP);
    response.setHeader("x-content-type-options", "nosniff");
    response.setHeader("referrer-policy", "no-referrer");
    response.setHeader("cache-control", "public, max-age=300");
    // Tools that read the description in a browser.
    if (cors) response.setHeader("access-control-allow-origin", "*");
    response.type(type).send(text);
  };
}
