import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { PATHS } from "../../../../shared/web-paths.ts";
import type { Operator, OperatorGas } from "../../../contract.ts";
import { app } from "../../data/app.ts";
import { operatorGasQuery } from "../../data/queries.ts";
import { readCredits } from "../../ui/amount.ts";
import { Field } from "../../ui/controls.tsx";
import { count, percent, units } from "../../ui/format.ts";
import { Loaded } from "../../ui/loaded.tsx";
import { Card, Empty } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";
import { ofThousand } from "./thousand.ts";

/** Nobody here knows what the chain's coin costs: the reader says so. The docs calculate with the same price. */
const EXAMPLE_PRICE = "3000";
const MOST_PRICE = 10_000_000;
const MARGIN = "Margin";
/** A millionth of the chain's coin, wei. */
const MICRO_COIN = 10n ** 12n;

/** Units of the stablecoin to the cent, a cost rounded up. */
const cents = (value: bigint): string => units((value < 0n ? value - 9_999n : value) / 10_000n, 2);

/** The earnings of an operator by a thousand charged jobs, and the cost of their gas. */
export default function Margin({ operator }: { operator: Operator }) {
  const gas = useQuery(operatorGasQuery(String(operator.number)));
  return (
    <Card title="A thousand charged jobs" aside={<span className="hint">by its jobs of 24 hours</span>}>
      <Loaded query={gas} rows={2} height={120}>
        {(data) => <Shown operator={operator} gas={data} />}
      </Loaded>
    </Card>
  );
}

function Shown({ operator, gas }: { operator: Operator; gas: OperatorGas }) {
  const [text, setText] = useState(EXAMPLE_PRICE);
  const { value: price } = readCredits(text, { least: 0, most: MOST_PRICE });
  const sums = ofThousand(operator, gas, price ?? 0);
  if (sums === null) return <Empty title="No job of it was charged in 24 hours" />;
  const { charged, fee, earned, wei, margin } = sums;
  const lines = [
    ["Charged", charged],
    ["Paid to workers", fee - charged],
    ["To the treasury", earned - fee],
    [fee === 0n ? "Earned" : `Earned, ${percent(Number(earned) / Number(fee))} of the fee`, earned],
    [`Gas, ${units(wei / MICRO_COIN, 6, 0)} ${app.currency}`, -sums.gas],
    [MARGIN, margin],
  ] as const;
  return (
    <div className="columns">
      <Table plain caption="What a thousand charged jobs bring and cost" columns={["", { end: "USDG" }]}>
        {lines.map(([label, value]) => (
          <tr key={label}>
            <td>{label === MARGIN ? <strong>{label}</strong> : label}</td>
            <td className="end">{label === MARGIN ? <strong>{cents(value)}</strong> : cents(value)}</td>
          </tr>
        ))}
      </Table>
      <div>
        <Field
          label={`Price of one ${app.currency}`}
          inputMode="numeric"
          suffix="USDG"
          value={text}
          onChange={(event) => setText(event.target.value)}
          error={price === null ? `A whole number, at most ${count(MOST_PRICE)}.` : null}
          hint={`Say what it costs: the chain does not know. Gas is the mean of the newest ${count(gas.jobs)} charged jobs.`}
        />
        <p className="hint">
          Workers are paid the charge less the protocol’s fee. Of the fee an operator earns the part that{" "}
          <Link to={PATHS.governance}>governance</Link> decides, at most half; the treasury has the rest. The lock of a
          job keeps the part. It can be withdrawn once no dispute can take it back.
        </p>
        <p className="hint">
          Jobs that ended without a charge ({count(operator.failed_24h)} in 24 hours) cost gas, too, and count as much
          as charged ones.
        </p>
      </div>
    </div>
  );
}
