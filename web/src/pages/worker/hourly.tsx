import type { HourlyPay, Worker } from "../../../contract.ts";
import { count, units } from "../../ui/format.ts";
import { Fact } from "../../ui/page.tsx";

const hours = (value: number): string => `${count(Math.round(value * 100) / 100)} h`;

const rate = ({ units: earned }: HourlyPay["asked"]): string =>
  earned === null ? "–" : `${units(BigInt(earned), 6)} USDG`;

/** What the worker's machine earns an hour, and how that is computed; nothing where this service saw nothing of it. */
export function HourlyFacts({ worker: { hourly } }: { worker: Worker }) {
  if (hourly === null) return null;
  const { asked, at_work } = hourly;
  return (
    <>
      <Fact label="Earned an hour ready">
        {rate(asked)} <span className="hint">of the {hours(asked.hours)} of 24 in which it could be asked</span>
      </Fact>
      <Fact label="Earned an hour at work">
        {rate(at_work)}{" "}
        <span className="hint">
          of {hours(at_work.hours)} from offer to last token, for this service; answers side by side count each
        </span>
      </Fact>
    </>
  );
}
