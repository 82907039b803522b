/**
 * `npm run bench:webhooks [-- --deliveries 20000 --webhooks 50 --seconds 20 --rate 20 --out FOLDER]`
 *
 * A gateway of the local stack delivers to a receiver on this machine. First events as the chain makes them: from the block to the endpoint. Then
 * the same beside a backlog of pending deliveries, some of them to endpoints that never answer. docs/webhooks.md shows a run.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { markdown, type Section, writeReport } from "./report.ts";
import { p50, percentile, shown } from "./statistics.ts";
import { Backlog } from "./webhooks/backlog.ts";
import { Depositor } from "./webhooks/depositor.ts";
import { Endpoint } from "./webhooks/endpoint.ts";
import { startGateway } from "./webhooks/gateway.ts";

const { values } = parseArgs({
  options: {
    deliveries: { type: "string", default: "20000" },
    webhooks: { type: "string", default: "50" },
    silent: { type: "string", default: "5" },
    seconds: { type: "string", default: "20" },
    rate: { type: "string", default: "20" },
    out: { type: "string", default: ".data/bench-webhooks" },
  },
});
const deliveries = Number(values.deliveries);
const seconds = Number(values.seconds);
const startedAt = new Date();

const progress = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`);
const latencyRow = (name: string, sent: number, ms: number[], lag: number): string[] => [
  name,
  String(sent),
  String(ms.length),
  shown(p50(ms)),
  shown(percentile(ms, 0.95)),
  shown(percentile(ms, 1)),
  String(lag),
];

progress("starting chain, database, index and gateway");
const gateway = await startGateway();
const endpoint = await Endpoint.open();
try {
  const depositor = await Depositor.create(gateway.stack, Number(values.rate) * seconds * 4);
  await gateway.webhook(depositor.address, endpoint.url("/live"), ["credit.topup"]);
  const columns = ["while", "events", "arrived", "p50 ms", "p95 ms", "max ms", "blocks behind at the end"];
  const live: Section = { title: "From the block to the endpoint", columns, rows: [], json: [] };

  const measure = async (name: string, until: Promise<unknown>): Promise<void> => {
    const mined = await depositor.run(Number(values.rate), until);
    await endpoint.waitFor("/live", mined, 30_000);
    const ms = endpoint.latencies("/live", mined);
    const lag = await gateway.lag();
    live.rows.push(latencyRow(name, mined.size, ms, lag));
    live.json.push({
      name,
      sent: mined.size,
      arrived: ms.length,
      p50: p50(ms),
      p95: percentile(ms, 0.95),
      max: percentile(ms, 1),
      lag,
    });
  };

  progress(`${values.rate} events a second for ${seconds} s`);
  await measure("nothing else is pending", sleep(seconds * 1_000));

  progress(`${deliveries} pending deliveries to ${values.webhooks} webhooks, ${values.silent} more never answer`);
  const backlog = await Backlog.create(gateway, endpoint, Number(values.webhooks), Number(values.silent), deliveries);
  const begin = performance.now();
  await backlog.release();
  const drained = backlog.drained().then(() => (performance.now() - begin) / 1000);
  await measure(`${deliveries} are pending`, drained);
  const took = await drained;
  const rate = deliveries / took;
  const sent: Section = {
    title: "A backlog",
    columns: ["pending", "webhooks", "silent ones", "drained in s", "deliveries/s", "gateway's memory MB"],
    rows: [[String(deliveries), values.webhooks, values.silent, shown(took), shown(rate, 0), String(gateway.memory())]],
    json: [{ deliveries, seconds: took, rate }],
  };
  writeReport(values.out, [live, sent], startedAt);
  console.log(markdown([live, sent], startedAt));
} finally {
  endpoint.close();
  await gateway.stop();
}
