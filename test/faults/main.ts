/**
 * `npm run test:faults [-- --seed N --faults 200 --requests 5000 --concurrency 12 --rate 20 --minutes 10 --kinds kill --keep folder]`
 * `npm run test:chaos`: ten minutes of `kill -9` at 20 requests a second.
 *
 * Random accidents on a real system under load, then a verdict from the chain alone. The printed seed repeats the run's choices.
 * Exit status 0 when the verdict holds. `--minutes` counts time instead of faults and requests, `--rate` sets the requests a second of all
 * clients, `--nodes` puts nodes of other kinds between the parts and the chain, another one each fault or minute, `--kinds` is a regular expression of their names, `--keep` keeps the logs of all parts.
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
    kinds: { type: "string" },
    rate: { type: "string" },
    minutes: { type: "string" },
    nodes: { type: "boolean", default: false },
  },
});
const result = await run({
  seed: Number(values.seed ?? randomInt(2 ** 31)),
  ...(values.minutes === undefined
    ? { faults: Number(values.faults), requests: Number(values.requests) }
    : { minutes: Number(values.minutes) }),
  concurrency: Number(values.concurrency),
  nodes: values.nodes,
  ...(values.rate === undefined ? {} : { rate: Number(values.rate) }),
  ...(values.kinds === undefined ? {} : { kinds: values.kinds }),
  ...(values.keep === undefined ? {} : { keep: values.keep }),
  note: (line) => console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`),
});
console.log(JSON.stringify(result, null, 2));
console.log(result.problems.length === 0 ? "verdict: nothing was lost" : `verdict: ${result.problems.length} problems`);
process.exit(result.problems.length === 0 ? 0 : 1);
