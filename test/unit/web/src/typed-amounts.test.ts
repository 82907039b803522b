/** What people type as an amount of stake, and what they read of the time left. */
import { expect, it } from "vitest";
import { readSvc } from "../../../../web/src/ui/amount.ts";
import { countdown } from "../../../../web/src/ui/format.ts";

const read = (text: string) => readSvc(text, { most: 2_000_000_000n, mostSays: "too much" });

it.each([
  ["1", 1_000_000n],
  ["1,000.5", 1_000_500_000n],
  [" 0.000001 ", 1n],
  ["2000", 2_000_000_000n],
])("reads %s SVC to the millionth", (text, value) => {
  expect(read(text)).toEqual({ value, error: null });
});

it.each([
  ["", null],
  ["0", "More than nothing."],
  ["0.0", "More than nothing."],
  ["1.0000001", "A number with up to six decimals."],
  ["-1", "A number with up to six decimals."],
  ["1e3", "A number with up to six decimals."],
  ["2000.000001", "too much"],
])("takes '%s' for no stake", (text, error) => {
  expect(read(text)).toEqual({ value: null, error });
});

it.each([
  [42, "0:42"],
  [60, "1:00"],
  [3 * 3_600 + 42, "3:00:42"],
  [86_400, "1 d 0:00:00"],
  [6 * 86_400 + 23 * 3_600 + 59 * 60 + 59, "6 d 23:59:59"],
  [-5, "0:00"],
])("counts %i seconds down", (seconds, text) => {
  expect(countdown(seconds * 1_000)).toBe(text);
});
