import { useQuery } from "@tanstack/react-query";
import type { OperatorSpan } from "../../../contract.ts";
import { app } from "../../data/app.ts";
import { operatorSeenQuery } from "../../data/queries.ts";
import { MEASURES, ObservedCard, requestsOf, useRange } from "../../ui/observed.tsx";

const CHAIN = "Jobs and charges by the time of the lock, as the chain has them.";
const OWN = `${CHAIN} Requests, uptime and time to first token as this service's gateways saw them, of all models that a worker served in this time.`;

/** Its jobs and charges over time; of this service's own operator also what its gateways saw. */
export default function OverTime({ id, title = "Over time" }: { id: string; title?: string }) {
  const [range, choose] = useRange();
  const seen = useQuery(operatorSeenQuery(id, range));
  const hint = Number(id) === app.operator ? OWN : `${CHAIN} Only its own gateways see its requests.`;
  return <ObservedCard title={title} hint={hint} seen={seen} range={range} choose={choose} charts={chartsOf} />;
}

function chartsOf({ spans }: { spans: readonly OperatorSpan[] }) {
  const observed = spans.flatMap((one) => one.observed ?? []);
  const ofChain = [
    {
      ...MEASURES.jobs,
      series: [
        { name: "Charged", values: spans.map((one) => one.charged) },
        { name: "Failed", colour: "bad" as const, values: spans.map((one) => one.failed) },
        { name: "Refunded", colour: 4, values: spans.map((one) => one.refunded) },
      ],
    },
    { ...MEASURES.charged, series: [{ name: "All its jobs", values: spans.map((one) => one.credits) }] },
  ];
  if (observed.length === 0) return ofChain;
  return [
    ...ofChain,
    { ...MEASURES.requests, series: requestsOf(observed) },
    { ...MEASURES.uptime, series: [{ name: "A model could be asked", values: observed.map((one) => one.uptime) }] },
    {
      ...MEASURES.firstToken,
      series: [{ name: "From the request", values: observed.map((one) => one.first_token_ms) }],
    },
  ];
}
