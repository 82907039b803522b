/**
 * `npm run test:faults [-- --seed N --faults 200 --requests 5000 --concurrency 12 --keep folder --only "kill -9"]`
 *
 * Random accidents on a real system under load, then a verdict from the chain alone. The printed seed repeats the run's choices.
 * Exit status 0 when the verdict holds. `--keep` keeps the logs of all parts, `--only` takes kinds by a part of their name.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { run } from "./run.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    faults: { type: "string", default: "200" },
    requests: { type: "string", default: "5000" },
    concurrency: { type: "string", default: "12" },
    keep: { type: "string" },
    only: { type: "string" },
  },
});
const result = await run({
  seed: Number(values.seed ?? randomInt(2 ** 31)),
  faults: Number(values.faults),
  requests: Number(values.requests),
  concurrency: Number(values.concurrency),
  ...(values.only === undefined ? {} : { only: values.only }),
  ...(values.keep === undefined ? {} : { keep: values.keep }),
  note: (line) => console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`),
});
console.log(JSON.stringify(result, null, 2));
console.log(result.problems.length === 0 ? "verdict: nothing was lost" : `verdict: ${result.problems.length} problems`);
process.exit(result.problems.length === 0 ? 0 : 1);
