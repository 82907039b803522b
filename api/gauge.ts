import { Gauge, type Registry } from "prom-client";

/**
 * A gauge that is read at the moment of a scrape. A scrape must not fail as a whole because one part is away: that part's
 * gauge says so by being absent.
 */
export function scrapedGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | Promise<number>,
): void {
  const gauge: Gauge = new Gauge({
    name,
    help,
    registers: [registry],
    collect: async () => {
      try {
        gauge.set(await read());
      } catch {
        gauge.reset();
      }
    },
  });
}
