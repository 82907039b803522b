/** Pages of the documentation are plain HTML, rendered here: no script, nothing from another host. */

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text → HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => ESCAPES[char] as string);
}

/** Text → HTML, with `code` marked, and [title](address) as a link. */
export function html(text: string): string {
  return escapeHtml(text)
    .replace(/`([^`]+)`/g, "<code>$1</code>")
    .replace(/\[([^\]]+)\]\(([^)\s]+)\)/g, '<a href="$2">$1</a>');
}

/** The pages, in the order of the navigation. */
const PAGES = [
  ["/docs", "Guide"],
  ["/docs/reference", "API reference"],
  ["/docs/errors", "Errors"],
] as const;
export type PagePath = (typeof PAGES)[number][0];

/** An entry of a page's table of contents; without an id it is a heading. */
export type Entry = { id?: string; title: string };

/** A whole page. `body` is HTML; `contents` becomes the list at its side. */
export function page(path: PagePath, title: string, contents: readonly Entry[], body: string): string {
  const links = PAGES.map(
    ([href, name]) => `<a href="${href}"${href === path ? ' aria-current="page"' : ""}>${name}</a>`,
  ).join("");
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Credit-metered inference</title>
<link rel="stylesheet" href="/docs/style.css"></head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header><strong>Credit-metered inference</strong><nav aria-label="Pages">${links}<a href="/openapi.json">OpenAPI</a></nav></header>
<div class="layout">
<nav class="contents" aria-label="On this page">${list(contents)}</nav>
<main id="main">${body}</main>
</div>
</body>
</html>
`;
}

function list(contents: readonly Entry[]): string {
  const items = contents.map(({ id, title }) =>
    id === undefined ? `<li><b>${html(title)}</b></li>` : `<li><a href="#${id}">${html(title)}</a></li>`,
  );
  return `<ul>${items.join("")}</ul>`;
}
