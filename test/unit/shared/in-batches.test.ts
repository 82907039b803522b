import { expect, it } from "vitest";
import { inBatches } from "../../../shared/in-batches.ts";

it("asks for so many at a time, and keeps their order", async () => {
  let [asked, most] = [0, 0];
  const ask = async (n: number) => {
    asked += 1;
    most = Math.max(most, asked);
    await new Promise((resolve) => setImmediate(resolve));
    asked -= 1;
    return n * 2;
  };
  expect(await inBatches([1, 2, 3, 4, 5], 2, ask)).toEqual([2, 4, 6, 8, 10]);
  expect(most).toBe(2);
  expect(await inBatches([], 2, ask)).toEqual([]);
});
