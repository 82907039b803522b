/** What docs/operations has an operator do, done by a script on a real system under load: two gateways behind a load balancer. */
import { scenario } from "../scenarios/scenario.ts";
import { alerts } from "./alerts.ts";
import { run } from "./drill.ts";
import { exchange } from "./exchange.ts";
import { newIndex } from "./new-index.ts";
import { reorganise } from "./reorganise.ts";
import { restore } from "./restore.ts";
import { rotate } from "./rotate.ts";
import { stolen } from "./stolen.ts";

/** `rate`: requests a second of all clients. `before`: the version before this one, as git names it. `only`: parts of the names of the faults of `alerts`. */
const options = { rate: 10, before: "HEAD~1", only: "" };

export const DRILLS = [exchange, rotate, restore, newIndex, reorganise, stolen, alerts].map((drill) =>
  scenario({ name: drill.name, does: drill.does, options, run: (given, note) => run(drill, { ...given, note }) }),
);
