/**
 * `npm run test:pool [-- --seed N --requests 200 --concurrency 20 --slow 30]`
 *
 * Three workers of one model on a real stack: one healthy, one that takes `slow` seconds to its first token, one that is killed at random
 * and started again. The verdict comes from the chain and the gateway's metrics; the printed seed repeats the run's choices. Exit status 0
 * when it holds.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { run } from "./run.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    requests: { type: "string", default: "200" },
    concurrency: { type: "string", default: "20" },
    slow: { type: "string", default: "30" },
  },
});
const result = await run({
  seed: Number(values.seed ?? randomInt(2 ** 31)),
  requests: Number(values.requests),
  concurrency: Number(values.concurrency),
  slowSeconds: Number(values.slow),
  // Long enough that the gateway trusts it again in between.
  longestUpMs: 4_000,
  note: (line) => console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`),
});
console.log(JSON.stringify(result, null, 2));
const { problems } = result;
console.log(problems.length === 0 ? "verdict: nobody was let down" : `verdict: ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
