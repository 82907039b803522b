import { useQuery } from "@tanstack/react-query";
import type { WorkerSpan } from "../../../contract.ts";
import { workerSeenQuery } from "../../data/queries.ts";
import { MEASURES, ObservedCard, requestsOf, useRange } from "../../ui/observed.tsx";

/** The worker's answers over time, of all its models together, as this service's gateways measured them. */
export default function Seen({ id }: { id: string }) {
  const [range, choose] = useRange();
  const seen = useQuery(workerSeenQuery(id, range));
  return <ObservedCard seen={seen} range={range} choose={choose} charts={chartsOf} />;
}

function chartsOf({ spans }: { spans: readonly WorkerSpan[] }) {
  const line = (name: string, read: (one: WorkerSpan) => number | null) => [{ name, values: spans.map(read) }];
  return [
    { ...MEASURES.requests, series: requestsOf(spans) },
    { ...MEASURES.earned, series: line("Paid by all operators", (one) => one.earned) },
    { ...MEASURES.uptime, series: line("A model of it could be asked", (one) => one.uptime) },
    { ...MEASURES.firstToken, series: line("From the offer", (one) => one.first_token_ms) },
    { ...MEASURES.speed, series: line("Of one answer", (one) => one.tokens_per_second) },
  ];
}
