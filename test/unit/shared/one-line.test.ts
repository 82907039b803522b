import { expect, it } from "vitest";
import { escapeControls, oneLine } from "../../../shared/one-line.ts";

it.each([
  ["a line feed and a carriage return", "a\nb\rc", "a\\u000ab\\u000dc"],
  ["an escape that erases a line", "\u001b[2K", "\\u001b[2K"],
  ["DEL and the control characters above it", "a\u007f\u009bb", "a\\u007f\\u009bb"],
  ["separators of lines and paragraphs", "a\u2028b\u2029c", "a\\u2028b\\u2029c"],
  ["marks that turn the direction of text", "a\u202eb\u2066c\u200fd", "a\\u202eb\\u2066c\\u200fd"],
  ["half of a character", "a\ud83d", "a\ufffd"],
])("writes %s so that a terminal shows it", (_what, text, shown) => {
  expect(oneLine(text)).toBe(shown);
});

it("leaves other text as it is, and cuts what is too long", () => {
  const text = "Grüße, 你好, 👩‍👩‍👧, שלום";
  expect(oneLine(` ${text}\n`)).toBe(text);
  expect(oneLine("x".repeat(200))).toBe("x".repeat(200));
  expect(oneLine("x".repeat(201))).toBe(`${"x".repeat(199)}…`);
  expect(oneLine("\u001b".repeat(201))).toHaveLength(200);
});

it("keeps the lines of a whole output, and the values in its JSON", () => {
  const value = { endpoint: "https://x/\u001b\u009b\u2028" };
  const json = escapeControls(JSON.stringify(value, null, 2));
  expect(json.split("\n")).toHaveLength(3);
  expect(json).not.toMatch(/[\u007f-\u009f\u2028]/);
  expect(JSON.parse(json)).toEqual(value);
});
