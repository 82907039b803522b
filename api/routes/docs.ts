import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type Request, type RequestHandler, type Response, Router } from "express";
import { THEMES, type Theme } from "../../shared/web-paths.ts";
import type { Config } from "../config.ts";
import { errorsPage, guidePage, pageHead } from "../docs/pages.ts";
import { ApiError } from "../errors.ts";
import { openApiDocument } from "./openapi/document.ts";
import { inTheme, themeOf } from "./request.ts";

const policy = (...rules: string[]) =>
  ["default-src 'none'", ...rules, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join("; ");
/** The guide and the errors run no script, and load nothing from another host. */
const CSP = policy("style-src 'self'");
/** Redoc reads `/openapi.json`, and fills style elements by script. The hash is that of an empty one. */
const REFERENCE_CSP = policy(
  "style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src data:",
);
const YEAR_SECONDS = 31_536_000;
const STYLE = readFileSync(new URL("../docs/style.css", import.meta.url), "utf8");
/** Built with the web application, which holds the script as well (`web/reference.html`). */
const REFERENCE = fileURLToPath(new URL("../../web/dist/reference.html", import.meta.url));

/**
 * The documentation site: `/docs` (guide), `/docs/reference`, `/docs/errors#<code>` where every error body's `docs` link leads,
 * and `/openapi.json`. Everybody may read it.
 */
export function docsRoutes(config: Config, operator: number): Router {
  return Router()
    .get("/docs", send("html", guidePage(config, operator)))
    .get("/docs/reference", reference)
    .get("/docs/errors", send("html", errorsPage()))
    .get("/docs/theme/:theme", chooseTheme)
    .get("/docs/style.css", send("css", STYLE))
    .get("/openapi.json", send("json", JSON.stringify(openApiDocument(config.BASE_URL)), { cors: true }));
}

/** Light or dark by a link, because these pages run no script; the cookie is the application's (`web/src/ui/theme.tsx`). */
const chooseTheme: RequestHandler = ({ params, query }, response, next) => {
  const theme = THEMES.find((one) => one === params["theme"]);
  if (theme === undefined) return next();
  const from = ["/docs/reference", "/docs/errors"].find((path) => path === query["from"]) ?? "/docs";
  const kept = theme === "system" ? 0 : YEAR_SECONDS;
  response.setHeader("set-cookie", `theme=${theme}; Path=/; SameSite=Lax; Max-Age=${kept}`);
  response.setHeader("cache-control", "no-store");
  response.redirect(303, from);
};

const reference: RequestHandler = (request, response) => {
  if (!existsSync(REFERENCE)) {
    throw new ApiError(
      "service_unavailable",
      "The API reference is not built: run `node scripts/build/web.ts`. /openapi.json has the same content.",
    );
  }
  response.setHeader("content-security-policy", REFERENCE_CSP);
  response.setHeader("cache-control", "no-cache");
  response.vary("cookie").type("html");
  sendPrepared(request, response, referenceIn(themeOf(request)));
};

/** The built reference in each theme, prepared again when it was built anew. */
let built: { at: number; in: ReturnType<typeof inThemes> } | undefined;
function referenceIn(theme: Theme): Prepared {
  const at = statSync(REFERENCE).mtimeMs;
  if (built?.at !== at) {
    const page = readFileSync(REFERENCE, "utf8").replace("<header></header>", pageHead("/docs/reference"));
    built = { at, in: inThemes(page) };
  }
  return built.in(theme);
}

function send(type: "html" | "css" | "json", text: string, { cors = false } = {}): RequestHandler {
  const page = inThemes(text);
  return (request, response) => {
    response.setHeader("content-security-policy", CSP);
    response.setHeader("cache-control", "public, max-age=300");
    // Tools that read the description in a browser.
    if (cors) response.setHeader("access-control-allow-origin", "*");
    if (type === "html") response.vary("cookie");
    response.type(type);
    sendPrepared(request, response, page(type === "html" ? themeOf(request) : "system"));
  };
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
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("etag", etag);
  response.vary("accept-encoding");
  const isCompressed = request.acceptsEncodings("gzip", "identity") === "gzip";
  if (isCompressed) response.setHeader("content-encoding", "gzip");
  response.send(isCompressed ? compressed : plain);
}
