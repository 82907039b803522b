/** Lines of the files that the web application offers, whatever a model's id has in it. */
import { expect, it } from "vitest";
import { csvLine } from "../../../shared/csv.ts";

it.each([
  [["2026-11-28", "qwen3-1.7b", 12, null], "2026-11-28,qwen3-1.7b,12,\r\n"],
  [['llama,"large"', 1], '"llama,""large""",1\r\n'],
  [["two\nlines", "\r"], '"two\nlines","\r"\r\n'],
])("%j is one line of as many fields", (fields, line) => {
  expect(csvLine(fields)).toBe(line);
});
