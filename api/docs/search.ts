/** Search over guide, reference and errors: an index in memory, made with the pages. */
import MiniSearch from "minisearch";
import { escapeHtml, type Page, type Section, shell } from "./pages.ts";

/** An entry of the search: a section, or the text below one of its headings. */
type Entry = { id: string; page: string; title: string; text: string };

/** Results of one search, and characters and different words of a question that count: each word is looked for in the whole index. */
const SHOWN = 12;
const MOST_ASKED = 100;
const MOST_WORDS = 8;
/** A shorter word is no beginning of a longer one: a single letter begins a tenth of all words. */
const SHORTEST_PREFIX = 2;
/** Characters of an entry around the first word that was found. */
const EXCERPT = 160;

const wordsOf = MiniSearch.getDefault("tokenize") as (text: string) => string[];

/** Answers a question with a page of results. */
export function searchOf(pages: readonly Page[]): (asked: string) => string {
  const entries = pages.flatMap(({ path, title, sections }) => sections.flatMap((one) => entriesOf(one, path, title)));
  const index = new MiniSearch<Entry>({
    fields: ["title", "text"],
    storeFields: ["page", "title", "text"],
    searchOptions: {
      boost: { title: 4 },
      tokenize: (text) => [...new Set(wordsOf(text))].slice(0, MOST_WORDS),
      prefix: (term) => term.length >= SHORTEST_PREFIX,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      combineWith: "AND",
    },
  });
  index.addAll(entries);
  return (given) => {
    const asked = given.slice(0, MOST_ASKED);
    const found = index.search(asked).slice(0, SHOWN);
    const results = found.map(
      ({ id, page, title, text, terms }) =>
        `<li><a href="${id}"><b>${escapeHtml(title)}</b> <small>${page}</small><span>${excerpt(text, terms)}</span></a></li>`,
    );
    const said =
      found.length === 0 ? `Nothing was found for “${escapeHtml(asked)}”.` : `Found for “${escapeHtml(asked)}”:`;
    const main = `<h1>Search</h1><div id="found"><p role="status">${said}</p><ol class="results">${results.join("")}</ol></div>`;
    return shell({ path: "/docs/search", title: "Search", asked }, "", main);
  };
}

function entriesOf({ id, title, body, parts = [] }: Section, path: string, page: string): Entry[] {
  const [own = "", ...below] = body.split(/(?=<h3 id=")/);
  const entry = (at: string, name: string, html: string): Entry => ({
    id: `${path}#${at}`,
    page,
    title: plain(name),
    text: plain(html),
  });
  const headings = below.map((html) => {
    const [all = "", at = "", name = ""] = /^<h3 id="([^"]*)">(.*?)<\/h3>/.exec(html) ?? [];
    return entry(at, name, html.slice(all.length));
  });
  return [entry(id, title, own), ...headings, ...parts.flatMap((part) => entriesOf(part, path, page))];
}

const ENTITIES: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&" };

/** The text of HTML that we wrote. */
const plain = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? entity)
    .replaceAll(/\s+/g, " ")
    .trim();

/** The text around the first of the words, which are marked. */
function excerpt(text: string, words: readonly string[]): string {
  const escaped = words.map((word) => word.replaceAll(/[^\p{L}\p{N}]/gu, "\\$&"));
  const first = text.search(new RegExp(escaped.join("|"), "i"));
  const from = first < EXCERPT / 2 ? 0 : text.indexOf(" ", first - EXCERPT / 2) + 1;
  const cut = text.slice(from, from + EXCERPT);
  const parts = cut.split(new RegExp(`(${escaped.join("|")})`, "i"));
  const shown = parts.map((part, nth) => (nth % 2 === 1 ? `<mark>${escapeHtml(part)}</mark>` : escapeHtml(part)));
  return `${from > 0 ? "… " : ""}${shown.join("")}${from + EXCERPT < text.length ? " …" : ""}`;
}
