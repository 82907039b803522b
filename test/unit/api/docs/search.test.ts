/** What a search costs: each word is looked for in the whole index, and anybody may ask without a key. */
import { expect, it } from "vitest";
import { searchOf } from "../../../../api/docs/search.ts";

const WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"];
const section = { id: "words", title: "Words", body: `<p>${WORDS.join(" ")}</p>` };
const search = searchOf([{ path: "/docs", title: "Guide", opening: "", sections: [section] }]);
const FOUND = '<a href="/docs#words">';

it("finds a section that has all words, or longer ones that begin so", () => {
  expect(search("bravo al")).toContain(FOUND);
  expect(search("bravo india")).not.toContain(FOUND);
});

it("looks for the first eight different words of a question alone", () => {
  const repeated = `alpha ${WORDS.join(" ")}`;
  expect(search(`${repeated} india`)).toContain(FOUND);
  expect(search(repeated.replace("hotel", "india"))).not.toContain(FOUND);
});

it("takes a single letter for a word, not for the beginning of others", () => {
  expect(search("b")).not.toContain(FOUND);
});
