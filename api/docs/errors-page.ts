import { ApiError, ERROR_CODES, type ErrorCode } from "../errors.ts";
import { lead, section } from "./blocks.ts";
import { ERROR_GUIDE } from "./error-guide.ts";
import { html, page } from "./page.ts";

/** `/docs/errors`: `#<code>` is where every error body's `docs` link leads. */
export function errorsPage(): string {
  const sections = ERROR_CODES.map((code) => ({ id: code, title: `\`${code}\``, body: entry(code) }));
  const opening = lead(
    "Every code with its cause, what to do, and whether a repetition can help. All 5xx answers are safe to retry: nothing is charged without an answer.",
  );
  return page("/docs/errors", "Errors", sections, `<h1>Errors</h1>${opening}${sections.map(section).join("\n")}`);
}

function entry(code: ErrorCode): string {
  const { cause, fix, retry } = ERROR_GUIDE[code];
  const { status, type } = new ApiError(code, "");
  const statuses = code === "model_not_found" ? "400, or 404 at `/v1/models/{model_id}`" : String(status);
  const rows = { Cause: cause, "What to do": fix, Retry: retry };
  const items = Object.entries(rows).map(([title, text]) => `<dt>${title}</dt><dd>${html(text)}</dd>`);
  return `<p>${html(`Status ${statuses}, type \`${type}\``)}</p><dl>${items.join("")}</dl>`;
}
