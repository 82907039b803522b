import { expect, it } from "vitest";
import { LogSpan } from "../../../shared/log-span.ts";

it("the size grows again, up to what was refused, and beyond it after a minute", () => {
  const span = new LogSpan(1_000);
  span.refused(1_000, 0);
  for (let n = 0; n < 20; n++) span.taken(span.blocks, 1_000);
  expect(span.blocks).toBe(999);
  span.refused(100, 2_000);
  for (let n = 0; n < 20; n++) span.taken(span.blocks, 3_000);
  expect(span.blocks).toBe(99);
  for (let n = 0; n < 20; n++) span.taken(span.blocks, 100_000);
  expect(span.blocks).toBe(1_000);
});
