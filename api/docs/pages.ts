/** The documentation pages: Markdown of docs/guide, the error table and the API reference, rendered once, at the start (decision 185). */
import { readFileSync } from "node:fs";
import { Marked, Renderer } from "marked";
import { DEFAULT_MAX_TOKENS, FLAT_TOKENS } from "../../protocol/pricing.ts";
import { PATHS, THEMES } from "../../shared/web-paths.ts";
import type { Config } from "../config.ts";
import { ApiError, ERROR_CODES, type ErrorCode } from "../errors.ts";
import { ERROR_GUIDE } from "./error-guide.ts";

/** A part of a page with its own address. `title` and `body` are HTML. */
export type Section = { id: string; title: string; body: string; parts?: readonly Section[] };
/** `opening` is Markdown. */
export type Page = { path: string; title: string; opening: string; sections: readonly Section[] };

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
export function guidePage(config: Config, operator: number): Page {
  const values = placeholders(config, operator);
  const sections = SECTIONS.map((id) => {
    const file = readFileSync(new URL(`../../docs/guide/${id}.md`, import.meta.url), "utf8");
    const text = file.replace(/\{\{(\w+)\}\}/g, (_, name: string) => fillIn(values, name));
    const [, title = "", body = ""] = /^# (.+)\n([\s\S]*)$/.exec(text) ?? [];
    return { id, title: inline(title), body: withAlternatives(markdown.parse(body) as string) };
  });
  const opening =
    "Chat completions for prepaid credits. Each request locks its price on a blockchain. A worker of a decentralized pool " +
    "answers and signs, and the contract pays it when the signature is verified. You can check every charge without us.";
  return { path: "/docs", title: "Guide", opening, sections };
}

/** `/docs/errors`: the `docs` link of an error body leads to `#<code>`. */
export function errorsPage(): Page {
  const sections = ERROR_CODES.map((code) => ({ id: code, title: `<code>${code}</code>`, body: errorEntry(code) }));
  const opening =
    "Every code with its cause, what to do, and whether a repetition can help. All 5xx answers are safe to retry: nothing is charged without an answer.";
  return { path: "/docs/errors", title: "Errors", opening, sections };
}

function errorEntry(code: ErrorCode): string {
  const { cause, fix, retry = "No: the same request gets the same answer." } = ERROR_GUIDE[code];
  const { status, type } = new ApiError(code, "");
  const statuses = code === "model_not_found" ? "400, or 404 at `/v1/models/{model_id}`" : String(status);
  const rows = { Cause: cause, "What to do": fix, Retry: retry };
  const items = Object.entries(rows).map(([title, text]) => `<dt>${title}</dt><dd>${inline(text)}</dd>`);
  return `<p>${inline(`Status ${statuses}, type \`${type}\``)}</p><dl>${items.join("")}</dl>`;
}

/** The values of the guide's `{{name}}` placeholders: the addresses and settings of the service that shows it. */
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

export const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Code with its caption, and the language that a reader may choose. Wide blocks can take the focus: the keyboard scrolls them too. */
export const codeBlock = (text: string, caption: string, language = caption): string =>
  `<figure data-language="${escapeHtml(language)}"><figcaption>${escapeHtml(caption)}</figcaption><pre tabindex="0"><code>${escapeHtml(text)}</code></pre></figure>`;

/** The same in several languages. The script shows one at a time; without it all are there. */
export const tabs = (figures: readonly string[]): string => `<div class="tabs">${figures.join("")}</div>`;

/** Blocks of code with nothing between them are the same in several languages. */
const withAlternatives = (html: string): string =>
  html.replaceAll(/(?:<figure (?:(?!<\/figure>).)*<\/figure>\s*){2,}/gs, (figures) => tabs([figures]));

/** As the application names them (web/src/ui/samples.ts). */
const LANGUAGES: Record<string, string> = { sh: "curl", js: "JavaScript", python: "Python" };

/** In the line that opens a code block, the words after the language are the caption. */
export const markdown = new Marked({
  renderer: {
    code({ text, lang = "" }) {
      const [language = "", ...caption] = lang.split(" ");
      return codeBlock(text, caption.join(" "), LANGUAGES[language] ?? language);
    },
    table(token) {
      const table = Renderer.prototype.table.call(this, token);
      return `<div class="scroll" tabindex="0" role="region" aria-label="Table">${table}</div>`;
    },
    /** The page has the h1, and each file an h2. */
    heading({ tokens, depth, text }) {
      const id = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
      return `<h${depth + 1} id="${id}">${this.parser.parseInline(tokens)}</h${depth + 1}>`;
    },
  },
});
export const inline = (text: string): string => markdown.parseInline(text) as string;

const DOCUMENTS = {
  "/docs": "Guide",
  "/docs/reference": "API reference",
  "/docs/errors": "Errors",
  "/openapi.json": "OpenAPI",
};
const PLACES = { [PATHS.models]: "Models", [PATHS.workers]: "Network", [PATHS.explorer]: "Explorer", "/docs": "Guide" };

/**
 * The top of each page: links to the application and the documents, the search field, and the choice of light or dark. None of it needs a
 * script.
 */
function pageHead(path: string, asked: string): string {
  const links = (all: Record<string, string>, current: string) =>
    Object.entries(all)
      .map(([href, name]) => `<a href="${href}"${href === current ? ' aria-current="page"' : ""}>${name}</a>`)
      .join("");
  const themes = THEMES.map(
    (theme) => `<a href="/docs/theme/${theme}?from=${path}" data-chosen="${theme}">${theme}</a>`,
  );
  return `<header>
<div><a class="brand" href="/"><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M9 11h14M9 16h9M9 21h12"/></svg>Credit-metered inference</a><nav aria-label="Pages">${links(PLACES, "/docs")}</nav><a class="account" href="${PATHS.overview}">Your account</a></div>
<div><nav aria-label="Documentation">${links(DOCUMENTS, path)}</nav><form role="search" action="/docs/search"><input type="search" name="q" value="${escapeHtml(asked)}" maxlength="100" placeholder="Search" aria-label="Search the documentation" autocomplete="off" required></form><nav class="themes" aria-label="Theme">${themes.join("")}</nav></div>
</header>`;
}

const entry = ({ id, title, parts = [] }: Section): string =>
  `<li><a href="#${id}">${title}</a>${parts.length > 0 ? `<ul>${parts.map(entry).join("")}</ul>` : ""}</li>`;

const sectionOf = ({ id, title, body, parts = [] }: Section, level = 2): string =>
  `<section id="${id}"><h${level}><a class="here" href="#${id}">${title}</a></h${level}>${body}${parts.map((part) => sectionOf(part, level + 1)).join("\n")}</section>`;

/** A page as HTML. */
export function htmlOf({ path, title, opening, sections }: Page): string {
  const contents = `<nav class="contents" aria-label="On this page"><ul>${sections.map(entry).join("")}</ul></nav>`;
  const main = `<h1>${title}</h1><div class="lead">${markdown.parse(opening)}</div>${sections.map((one) => sectionOf(one)).join("\n")}`;
  return shell({ path, title }, contents, main);
}

/** The frame of each page. `asked`: what was searched for. */
export function shell(
  { path, title, asked = "" }: { path: string; title: string; asked?: string },
  contents: string,
  main: string,
): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Credit-metered inference</title>
<link rel="stylesheet" href="/docs/style.css">
<script type="module" src="/docs/reader.mjs"></script></head>
<body>
<a class="skip" href="#main">Skip to the text</a>
${pageHead(path, asked)}
<div class="layout${path === "/docs/reference" ? " wide" : ""}">
${contents}
<main id="main">${main}</main>
</div>
</body>
</html>
`;
}
