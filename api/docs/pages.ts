/** The documentation pages: Markdown of docs/guide and the error table, rendered once, at the start. They run no script. */
import { readFileSync } from "node:fs";
import { Marked, Renderer } from "marked";
import { DEFAULT_MAX_TOKENS, FLAT_TOKENS } from "../../protocol/pricing.ts";
import { PATHS, THEMES } from "../../shared/web-paths.ts";
import type { Config } from "../config.ts";
import { ApiError, ERROR_CODES, type ErrorCode } from "../errors.ts";
import { ERROR_GUIDE } from "./error-guide.ts";

/** Files of docs/guide in the order of the page. A section's address is its file's name. */
const SECTIONS = [
  "start",
  "streaming",
  "answers",
  "charging",
  "verify",
  "disputes",
  "idempotency",
  "authorization",
  "retention",
  "webhooks",
  "errors",
];

/** `/docs`: what a client's author reads, from the first call on. */
export function guidePage(config: Config, operator: number): string {
  const values = placeholders(config, operator);
  const sections = SECTIONS.map((id) => {
    const file = readFileSync(new URL(`../../docs/guide/${id}.md`, import.meta.url), "utf8");
    const text = file.replace(/\{\{(\w+)\}\}/g, (_, name: string) => fillIn(values, name));
    const [, title = "", body = ""] = /^# (.+)\n([\s\S]*)$/.exec(text) ?? [];
    return { id, title, body: markdown.parse(body) as string };
  });
  const opening =
    "Chat completions for prepaid credits. Each request locks its price on a blockchain. A worker of a decentralized pool " +
    "answers and signs, and the contract pays it when the signature is verified. You can check every charge without us.";
  return page("/docs", "Guide", opening, sections);
}

/** `/docs/errors`: the `docs` link of an error body leads to `#<code>`. */
export function errorsPage(): string {
  const sections = ERROR_CODES.map((code) => ({ id: code, title: `\`${code}\``, body: errorEntry(code) }));
  const opening =
    "Every code with its cause, what to do, and whether a repetition can help. All 5xx answers are safe to retry: nothing is charged without an answer.";
  return page("/docs/errors", "Errors", opening, sections);
}

function errorEntry(code: ErrorCode): string {
  const { cause, fix, retry = "No: the same request gets the same answer." } = ERROR_GUIDE[code];
  const { status, type } = new ApiError(code, "");
  const statuses = code === "model_not_found" ? "400, or 404 at `/v1/models/{model_id}`" : String(status);
  const rows = { Cause: cause, "What to do": fix, Retry: retry };
  const items = Object.entries(rows).map(([title, text]) => `<dt>${title}</dt><dd>${inline(text)}</dd>`);
  return `<p>${inline(`Status ${statuses}, type \`${type}\``)}</p><dl>${items.join("")}</dl>`;
}

/** What stands for `{{name}}` in the guide: the addresses and settings of the service that shows it. */
function placeholders(config: Config, operator: number): Record<string, string> {
  const hours = config.OUTPUT_RETENTION_HOURS;
  const keysKept = Math.max(hours, 24);
  return {
    base_url: config.BASE_URL,
    app_url: config.APP_URL,
    transaction_url: `${config.EXPLORER_URL ?? config.APP_URL}/tx/<tx_hash>`,
    chain_id: String(config.deployment.chainId),
    escrow: config.deployment.contracts.InferenceEscrow,
    operator: String(operator),
    flat_tokens: FLAT_TOKENS.toLocaleString("en-US"),
    default_max_tokens: DEFAULT_MAX_TOKENS.toLocaleString("en-US"),
    keys_kept: String(keysKept),
    answers_kept: hours > 0 ? `${hours} hours, then erased` : "not kept at all",
    replays:
      hours > 0
        ? `Keys and answers are kept for ${keysKept} hours; after that a key is new again.`
        : `This service keeps no answers: for ${keysKept} hours a repetition is 409 \`conflict\`, never a second charge.`,
  };
}

function fillIn(values: Record<string, string>, name: string): string {
  const value = values[name];
  if (value === undefined) throw new Error(`docs/guide names {{${name}}}, which has no value`);
  return value;
}

const escapeHtml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Wide blocks can take the focus: the keyboard scrolls them too. What follows a code block's language is its caption. */
const markdown = new Marked({
  renderer: {
    code({ text, lang = "" }) {
      const caption = escapeHtml(lang.replace(/^\S+ ?/, ""));
      return `<figure><figcaption>${caption}</figcaption><pre tabindex="0"><code>${escapeHtml(text)}</code></pre></figure>`;
    },
    table(token) {
      const table = Renderer.prototype.table.call(this, token);
      return `<div class="scroll" tabindex="0" role="region" aria-label="Table">${table}</div>`;
    },
    /** The page has the h1, and each file an h2. */
    heading({ tokens, depth }) {
      return `<h${depth + 1}>${this.parser.parseInline(tokens)}</h${depth + 1}>`;
    },
  },
});
const inline = (text: string): string => markdown.parseInline(text) as string;

type Section = { id: string; title: string; body: string };

const DOCUMENTS = {
  "/docs": "Guide",
  "/docs/reference": "API reference",
  "/docs/errors": "Errors",
  "/openapi.json": "OpenAPI",
};
const PLACES = { [PATHS.models]: "Models", [PATHS.workers]: "Network", [PATHS.explorer]: "Explorer", "/docs": "Guide" };

/** What stands above each page: the application's places, the documents, and light or dark, chosen without a script. */
export function pageHead(path: string): string {
  const links = (all: Record<string, string>, current: string) =>
    Object.entries(all)
      .map(([href, name]) => `<a href="${href}"${href === current ? ' aria-current="page"' : ""}>${name}</a>`)
      .join("");
  const themes = THEMES.map(
    (theme) => `<a href="/docs/theme/${theme}?from=${path}" data-chosen="${theme}">${theme}</a>`,
  );
  return `<header>
<div><a class="brand" href="/"><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M9 11h14M9 16h9M9 21h12"/></svg>Credit-metered inference</a><nav aria-label="Pages">${links(PLACES, "/docs")}</nav><a class="account" href="${PATHS.overview}">Your account</a></div>
<div><nav aria-label="Documentation">${links(DOCUMENTS, path)}</nav><nav class="themes" aria-label="Theme">${themes.join("")}</nav></div>
</header>`;
}

function page(path: string, title: string, opening: string, sections: readonly Section[]): string {
  const contents = sections.map(({ id, title }) => `<li><a href="#${id}">${inline(title)}</a></li>`);
  const parts = sections.map(
    ({ id, title, body }) =>
      `<section id="${id}"><h2><a class="here" href="#${id}">${inline(title)}</a></h2>${body}</section>`,
  );
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Credit-metered inference</title>
<link rel="stylesheet" href="/docs/style.css"></head>
<body>
<a class="skip" href="#main">Skip to the text</a>
${pageHead(path)}
<div class="layout">
<nav class="contents" aria-label="On this page"><ul>${contents.join("")}</ul></nav>
<main id="main"><h1>${title}</h1><p class="lead">${inline(opening)}</p>${parts.join("\n")}</main>
</div>
</body>
</html>
`;
}
