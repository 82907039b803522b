import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { type Request, type RequestHandler, type Response, Router } from "express";
import { THEMES, type Theme } from "../../shared/web-paths.ts";
import type { Config } from "../config.ts";
import { errorsPage, guidePage, htmlOf } from "../docs/pages.ts";
import { referencePage } from "../docs/reference.ts";
import { searchOf } from "../docs/search.ts";
import { burstLimit } from "./limits.ts";
import { openApiDocument } from "./openapi/document.ts";
import { inTheme, themeOf } from "./request.ts";

/** The pages run one script of their own, which asks the search; they load nothing from another host. */
const CSP = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");
const YEAR_SECONDS = 31_536_000;
const STYLE = readFileSync(new URL("../docs/style.css", import.meta.url), "utf8");
const READER = readFileSync(new URL("../docs/reader.mjs", import.meta.url), "utf8");
/** Searches a second from one address: each is a look into the index, and a page of its own. */
const SEARCHES_PER_SECOND = 20;

/**
 * The documentation site: `/docs` (guide), `/docs/reference`, `/docs/errors#<code>` where every error body's `docs` link leads,
 * and `/openapi.json`. Everybody may read it.
 */
export function docsRoutes(config: Config, operator: number): Router {
  const description = openApiDocument(config.BASE_URL);
  const pages = [guidePage(config, operator), referencePage(description), errorsPage()];
  const router = Router();
  for (const page of pages) router.get(page.path, send("html", htmlOf(page)));
  return router
    .get("/docs/search", burstLimit(Math.min(config.BURST_PER_SECOND, SEARCHES_PER_SECOND)), search(searchOf(pages)))
    .get("/docs/theme/:theme", chooseTheme)
    .get("/docs/style.css", send("css", STYLE))
    .get("/docs/reader.mjs", send("text/javascript", READER))
    .get("/openapi.json", send("json", JSON.stringify(description), { cors: true }));
}

/** `GET /docs/search?q=`: a page of results. */
const search =
  (answer: ReturnType<typeof searchOf>): RequestHandler =>
  (request, response) => {
    const { q } = request.query;
    setHeaders(response);
    response.setHeader("cache-control", "no-store");
    response.type("html").send(inTheme(answer(typeof q === "string" ? q : ""), themeOf(request)));
  };

/** Light or dark by a link, because these pages need no script; the cookie is the application's (`web/src/ui/theme.tsx`). */
const chooseTheme: RequestHandler = ({ params, query }, response, next) => {
  const theme = THEMES.find((one) => one === params["theme"]);
  if (theme === undefined) return next();
  const from = ["/docs/reference", "/docs/errors", "/docs/search"].find((path) => path === query["from"]) ?? "/docs";
  const kept = theme === "system" ? 0 : YEAR_SECONDS;
  response.setHeader("set-cookie", `theme=${theme}; Path=/; SameSite=Lax; Max-Age=${kept}`);
  response.setHeader("cache-control", "no-store");
  response.redirect(303, from);
};

function send(type: "html" | "css" | "json" | "text/javascript", text: string, { cors = false } = {}): RequestHandler {
  const page = inThemes(text);
  return (request, response) => {
    setHeaders(response);
    response.setHeader("cache-control", "public, max-age=300");
    // Tools that read the description in a browser.
    if (cors) response.setHeader("access-control-allow-origin", "*");
    if (type === "html") response.vary("cookie");
    response.type(type);
    sendPrepared(request, response, page(type === "html" ? themeOf(request) : "system"));
  };
}

function setHeaders(response: Response): void {
  response.setHeader("content-security-policy", CSP);
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("referrer-policy", "no-referrer");
}

/** A text as it is sent, and what it is known by. Many readers at once must not cost a compression each. */
type Prepared = { plain: Buffer; compressed: Buffer; etag: string };

/** A text in each theme, prepared when it is first asked for. */
function inThemes(text: string): (theme: Theme) => Prepared {
  const prepared = new Map<Theme, Prepared>();
  return (theme) => {
    let one = prepared.get(theme);
    if (one === undefined) {
      const plain = Buffer.from(inTheme(text, theme));
      const etag = `W/"${createHash("sha256").update(plain).digest("base64url")}"`;
      one = { plain, compressed: gzipSync(plain), etag };
      prepared.set(theme, one);
    }
    return one;
  };
}

/** Sends it compressed to those who take that; a reader that has it already gets 304. */
function sendPrepared(request: Request, response: Response, { plain, compressed, etag }: Prepared): void {
  response.setHeader("etag", etag);
  response.vary("accept-encoding");
  const isCompressed = request.acceptsEncodings("gzip", "identity") === "gzip";
  if (isCompressed) response.setHeader("content-encoding", "gzip");
  response.send(isCompressed ? compressed : plain);
}
