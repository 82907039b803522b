import { escapeHtml, html } from "./page.ts";

/** Building blocks of a page's text. All take text, with `code` and [links](…), and return HTML. */

export const p = (text: string) => `<p>${html(text)}</p>`;
export const lead = (text: string) => `<p class="lead">${html(text)}</p>`;
export const note = (text: string) => `<p class="note">${html(text)}</p>`;
export const h3 = (text: string) => `<h3>${html(text)}</h3>`;
export const h4 = (text: string) => `<h4>${html(text)}</h4>`;
export const list = (...items: string[]) => `<ul>${items.map((item) => `<li>${html(item)}</li>`).join("")}</ul>`;

/** A block of code, with what it is. */
export function code(caption: string, text: string): string {
  // Focusable: a block wider than the screen is scrolled with the keyboard too.
  const block = `<pre tabindex="0"><code>${escapeHtml(text.trim())}</code></pre>`;
  return `<figure><figcaption>${html(caption)}</figcaption>${block}</figure>`;
}

/** A table; the first row is its head. */
export function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[], tag: string) => row.map((cell) => `<${tag}>${html(cell)}</${tag}>`).join("");
  const body = rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("");
  const scroll = '<div class="scroll" tabindex="0" role="region" aria-label="Table">';
  return `${scroll}<table><thead><tr>${cells(head, "th")}</tr></thead><tbody>${body}</tbody></table></div>`;
}

/** A part of a page with its own address. */
export type Section = { id: string; title: string; body: string };

export function section({ id, title, body }: Section): string {
  return `<section id="${id}"><h2><a class="here" href="#${id}">${html(title)}</a></h2>${body}</section>`;
}
