import type { Worker } from "../../../contract.ts";
import { units } from "../../ui/format.ts";
import { Figure } from "../../ui/page.tsx";

/** The earnings of several workers together. */
export function Earnings({ workers }: { workers: readonly Worker[] }) {
  const sum = (of: (worker: Worker) => number) => units(BigInt(workers.reduce((all, one) => all + of(one), 0)), 6);
  const figures = [
    ["Earned in 24 hours", sum((worker) => worker.earned_24h), "USDG"],
    ["In seven days", sum((worker) => worker.earned_7d), "USDG, days of UTC"],
    ["Ever", sum((worker) => worker.earned_total), "USDG for settled jobs"],
  ] as const;
  return (
    <dl className="figures">
      {figures.map(([label, value, hint], index) => (
        <Figure key={label} label={label} value={value} main={index === 0}>
          {hint}
        </Figure>
      ))}
    </dl>
  );
}
