/** The bounded form of `npm run test:pool`. */
import { expect, it } from "vitest";
import { run } from "./run.ts";

it("with a slow and a crashing worker every client gets an answer or may retry, nobody pays for nothing, and load moves", async () => {
  const lines: string[] = [];
  const result = await run({
    seed: Number(process.env["POOL_SEED"] ?? 7),
    requests: 80,
    concurrency: 20,
    slowSeconds: 5,
    // Shorter than an answer: the first crash meets one.
    longestUpMs: 900,
    note: (line) => lines.push(line),
  });
  console.log(JSON.stringify(result));
  expect(result.problems, lines.join("\n")).toEqual([]);
  // A run in which nothing crashed, or nobody noticed, would prove nothing.
  expect(result.crashes).toBeGreaterThan(0);
  expect(Object.keys(result.incidents.crashing)).not.toEqual([]);
  expect(result.answers.all.slow).toBeGreaterThan(0);
}, 420_000);
