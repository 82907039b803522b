import { type RequestHandler, Router } from "express";
import { ERROR_GUIDE } from "../docs/error-guide.ts";
import { html, page } from "../docs/page.ts";
import { ApiError, ERROR_CODES, type ErrorCode } from "../errors.ts";

/** The documentation site: `/docs/errors#<code>` is where every error body's `docs` link leads. */
export function docsRoutes(): Router {
  const errors = errorsPage();
  const showErrors: RequestHandler = (_request, response) => {
    // Nothing on these pages runs or loads anything.
    response.setHeader("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'");
    response.type("html").send(errors);
  };
  return Router().get("/errors", showErrors);
}

function errorsPage(): string {
  const entries = ERROR_CODES.map((code) => entry(code)).join("\n");
  const intro = `<h1>Errors</h1>
<p>Every error has the same body: <code>error.code</code>, <code>message</code>, <code>type</code>, <code>param</code>,
<code>docs</code> and, for some codes, <code>details</code>. All 5xx answers are safe to retry: nothing is charged without an answer.</p>`;
  return page("Errors", intro + entries);
}

function entry(code: ErrorCode): string {
  const { cause, fix, retry } = ERROR_GUIDE[code];
  const { status, type } = new ApiError(code, "");
  return `<section id="${code}"><h2><code>${code}</code></h2>
<p>Status ${status}, type <code>${type}</code></p>
<dl><dt>Cause</dt><dd>${html(cause)}</dd><dt>What to do</dt><dd>${html(fix)}</dd><dt>Retry</dt><dd>${html(retry)}</dd></dl></section>`;
}
