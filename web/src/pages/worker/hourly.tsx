import type { HourlyPay, Worker } from "../../../contract.ts";
import { count, units } from "../../ui/format.ts";
import { Fact } from "../../ui/page.tsx";

const hours = (value: number): string => `${count(Math.round(value * 100) / 100)} h`;

const rate = ({ units: earned }: HourlyPay["asked"]): string =>
  earned === null ? "–" : `${units(BigInt(earned), 6)} USDG`;

/** The pay of the worker's machine an hour, and how that is computed; nothing if this service has no measurements of it. */
export function HourlyFacts({ worker: { hourly } }: { worker: Worker }) {
  if (hourly === null) return null;
  const { asked, at_work } = hourly;
  return (
    <>
      <Fact label="Earned per hour ready">
        {rate(asked)} <p className="hint">It could be asked for {hours(asked.hours)} of the last 24.</p>
      </Fact>
      <Fact label="Earned per hour at work">
        {rate(at_work)}{" "}
        <p className="hint">
          {hours(at_work.hours)} of answers for this service, from offer to last token. Those side by side count each.
        </p>
      </Fact>
    </>
  );
}
