/**
 * `npm run bench:webhooks [-- --deliveries 20000 --webhooks 50 --seconds 20 --rate 20 --out FOLDER]`
 *
 * A gateway of the local stack delivers to a receiver on this machine. First events as the chain makes them: from the block to the endpoint. Then
 * the same beside a backlog of pending deliveries, some of them to endpoints that never answer. docs/webhooks.md shows a run; `npm run bench`
 * has it as its section `webhooks`.
 */
import { parseArgs } from "node:util";
import { markdown, writeReport } from "./report.ts";
import { WEBHOOK_LOAD, webhooks } from "./sections/webhooks.ts";

const number = (fallback: number) => ({ type: "string", default: String(fallback) }) as const;
const { values } = parseArgs({
  options: {
    deliveries: number(WEBHOOK_LOAD.deliveries),
    webhooks: number(WEBHOOK_LOAD.webhooks),
    silent: number(WEBHOOK_LOAD.silent),
    seconds: number(WEBHOOK_LOAD.seconds),
    rate: number(WEBHOOK_LOAD.rate),
    out: { type: "string", default: ".data/bench-webhooks" },
  },
});
const startedAt = new Date();
const load = {
  deliveries: Number(values.deliveries),
  webhooks: Number(values.webhooks),
  silent: Number(values.silent),
  seconds: Number(values.seconds),
  rate: Number(values.rate),
};
const sections = await webhooks(load, (line) => console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`));
writeReport(values.out, sections, startedAt);
console.log(markdown(sections, startedAt));
