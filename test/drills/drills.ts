/** What docs/operations has an operator do, done by a script on a real system under load: two gateways behind a load balancer. */
import type { Scenario } from "../scenarios/scenario.ts";
import { alerts } from "./alerts.ts";
import { type Drill, run } from "./drill.ts";
import { exchange } from "./exchange.ts";
import { newIndex } from "./new-index.ts";
import { reorganise } from "./reorganise.ts";
import { restore } from "./restore.ts";
import { rotate } from "./rotate.ts";
import { stolen } from "./stolen.ts";

/** `rate`: requests a second of all clients. `before`: the version before this one, as git names it. `only`: parts of the names of the faults of `alerts`. */
const OPTIONS = { rate: "10", before: "HEAD~1", only: "" };

const scenarioOf = (drill: Drill): Scenario => ({
  name: drill.name,
  does: drill.does,
  options: OPTIONS,
  run: async ({ rate, before = "", only = "" }, note) => {
    const { steps, ...result } = await run(drill, { rate: Number(rate), before, only, note });
    const rows = steps.map(({ what, seconds, requests, failed }) => ({
      step: what,
      seconds: Number(seconds.toFixed(1)),
      requests,
      failed,
    }));
    return { ...result, rows };
  },
});

export const DRILLS: readonly Scenario[] = [exchange, rotate, restore, newIndex, reorganise, stolen, alerts].map(
  scenarioOf,
);
