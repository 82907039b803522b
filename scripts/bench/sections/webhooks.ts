import { setTimeout as sleep } from "node:timers/promises";
import type { Section } from "../report.ts";
import { p50, percentile, shown } from "../statistics.ts";
import { Backlog } from "../webhooks/backlog.ts";
import { Depositor } from "../webhooks/depositor.ts";
import { Endpoint } from "../webhooks/endpoint.ts";
import { startGateway } from "../webhooks/gateway.ts";

/** `silent`: webhooks whose endpoints never answer, beside the others; `rate`: events a second that the chain makes meanwhile. */
export type WebhookLoad = { deliveries: number; webhooks: number; silent: number; seconds: number; rate: number };

export const WEBHOOK_LOAD: WebhookLoad = { deliveries: 20_000, webhooks: 50, silent: 5, seconds: 20, rate: 20 };

const latencyRow = (name: string, sent: number, ms: number[], lag: number): string[] => [
  name,
  String(sent),
  String(ms.length),
  shown(p50(ms)),
  shown(percentile(ms, 0.95)),
  shown(percentile(ms, 1)),
  String(lag),
];

/** Events from the block to the endpoint, alone and beside a backlog of pending deliveries; and how fast that is delivered. */
export async function webhooks(wanted: WebhookLoad, progress: (line: string) => void): Promise<Section[]> {
  const { deliveries, seconds, rate: eventsPerSecond } = wanted;
  progress("starting chain, database, index and gateway");
  const gateway = await startGateway();
  const endpoint = await Endpoint.open();
  try {
    const depositor = await Depositor.create(gateway.stack, eventsPerSecond * seconds * 4);
    await gateway.webhook(depositor.address, endpoint.url("/live"), ["credit.topup"]);
    const columns = ["while", "events", "arrived", "p50 ms", "p95 ms", "max ms", "blocks behind at the end"];
    const live: Section = { title: "From the block to the endpoint", columns, rows: [], json: [] };

    const measure = async (name: string, until: Promise<unknown>): Promise<void> => {
      const mined = await depositor.run(eventsPerSecond, until);
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

    progress(`${eventsPerSecond} events a second for ${seconds} s`);
    await measure("nothing else is pending", sleep(seconds * 1_000));

    progress(`${deliveries} pending deliveries to ${wanted.webhooks} webhooks, ${wanted.silent} more never answer`);
    const backlog = await Backlog.create(gateway, endpoint, wanted.webhooks, wanted.silent, deliveries);
    const begin = performance.now();
    await backlog.release();
    const drained = backlog.drained().then(() => (performance.now() - begin) / 1000);
    await measure(`${deliveries} are pending`, drained);
    const took = await drained;
    const rate = deliveries / took;
    const sent: Section = {
      title: "A backlog",
      columns: ["pending", "webhooks", "silent ones", "drained in s", "deliveries/s", "gateway's memory MB"],
      rows: [
        [
          String(deliveries),
          String(wanted.webhooks),
          String(wanted.silent),
          shown(took),
          shown(rate, 0),
          String(gateway.memory()),
        ],
      ],
      json: [{ deliveries, seconds: took, rate }],
    };
    return [live, sent];
  } finally {
    endpoint.close();
    await gateway.stop();
  }
}
