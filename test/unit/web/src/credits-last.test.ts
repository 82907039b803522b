/** How long a client is told that its free credits last. */
import { expect, it } from "vitest";
import { lastsFor } from "../../../../web/src/pages/overview/lasts.ts";

it.each([
  [1_000, 0, null],
  [0, 40, "less than a day"],
  [39, 40, "less than a day"],
  [40, 40, "about a day"],
  [119, 40, "about 2 days"],
  [365, 1, "about 365 days"],
  [366, 1, "more than a year"],
])("%i free credits, %i used in 24 hours: %s", (free, spent, says) => {
  expect(lastsFor(free, spent)).toBe(says);
});
