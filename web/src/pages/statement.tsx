import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { PATHS } from "../../../shared/web-paths.ts";
import type { Statement } from "../../contract.ts";
import { queryString, statementQuery } from "../data/queries.ts";
import { Button, Select } from "../ui/controls.tsx";
import { downloadCsv } from "../ui/download.ts";
import { count, units } from "../ui/format.ts";
import { AddressLink, ModelLink } from "../ui/links.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { Table } from "../ui/table.tsx";

const inWords = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });
const wordsOf = (month: string): string => inWords.format(new Date(`${month}-01`));

/** A month of the wallet, which the address names: what came in, what was spent, and that it adds up. Made to be printed. */
export function StatementPage() {
  const [search, setSearch] = useSearchParams();
  const chosen = search.get("month") ?? "";
  const statement = useQuery(statementQuery(chosen));
  const { data } = statement;
  return (
    <Page
      // The address can name anything; the answer names a month.
      title={data === undefined ? "Statement" : `Statement of ${wordsOf(data.month)}`}
      about="Days of UTC. Each amount is of an event on the chain; opening and closing balance are the contract’s own."
      actions={
        data === undefined ? null : (
          <>
            <Button onClick={() => print()}>Print</Button>
            <Button onClick={() => downloadCsv(`statement-${data.month}.csv`, csvRows(data))}>Download CSV</Button>
          </>
        )
      }
    >
      <Loaded query={statement} rows={3} height={120}>
        {(data) => (
          <>
            <search className="filters">
              <Select label="Month" value={data.month} onChange={({ target }) => setSearch({ month: target.value })}>
                {monthsOf(data).map((one) => (
                  <option key={one} value={one}>
                    {wordsOf(one)}
                  </option>
                ))}
              </Select>
            </search>
            <div className={statement.isPlaceholderData ? "pile stale" : "pile"}>
              <Sums statement={data} />
              {data.models.length === 0 ? null : <Models statement={data} />}
              <Days statement={data} />
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Months from the first deposit on, the newest first; the shown one is among them. */
function monthsOf({ month, first_month }: Statement): string[] {
  const last = [month, new Date().toISOString().slice(0, 7)].sort().at(-1) as string;
  const first = [month, first_month ?? last].sort()[0] as string;
  const index = (one: string) => Number(one.slice(0, 4)) * 12 + Number(one.slice(5)) - 1;
  const name = (at: number) => `${Math.floor(at / 12)}-${String((at % 12) + 1).padStart(2, "0")}`;
  return Array.from({ length: index(last) - index(first) + 1 }, (_, back) => name(index(last) - back));
}

function Sums({ statement }: { statement: Statement }) {
  const { wallet, complete, opening, closing, sums } = statement;
  const lines = [
    ["+", "Deposits", sums.deposits],
    ["+", "Refunds after disputes", sums.refunds],
    ["−", `Charges for ${count(sums.jobs)} ${sums.jobs === 1 ? "job" : "jobs"}`, sums.charges],
    ["−", "Withdrawals", sums.withdrawals],
    ["−", "Bonds lost in disputes", sums.forfeited_bonds],
  ] as const;
  return (
    <Card
      title="Sum"
      aside={<span className="hint">{complete ? "the month is complete" : "the month is not over yet"}</span>}
    >
      <p>
        Spendable and escrowed credits together, of <AddressLink address={wallet} what="wallet" />
      </p>
      <Table plain caption="Sum of the month" columns={["", { end: "Credits" }, { end: "USDG" }]}>
        <Balance label="Opening balance" value={opening} />
        {lines.map(([sign, label, value]) => (
          <tr key={label}>
            <td>{label}</td>
            <td className="end">
              {value === 0 ? "" : `${sign} `}
              {count(value)}
            </td>
            <td className="end">{units(BigInt(value), 2)}</td>
          </tr>
        ))}
        <Balance label="Closing balance" value={closing} />
      </Table>
    </Card>
  );
}

const Balance = ({ label, value }: { label: string; value: number }) => (
  <tr>
    <td>
      <strong>{label}</strong>
    </td>
    <td className="end">
      <strong>{count(value)}</strong>
    </td>
    <td className="end">
      <strong>{units(BigInt(value), 2)}</strong>
    </td>
  </tr>
);

const Models = ({ statement: { models } }: { statement: Statement }) => (
  <Card title="Charges by model">
    <Table caption="Charges by model" columns={["Model", { end: "Jobs" }, { end: "Credits" }, { end: "Tokens" }]}>
      {models.map(({ model, jobs, credits, tokens }) => (
        <tr key={model}>
          <td>
            <ModelLink id={model} />
          </td>
          <td className="end">{count(jobs)}</td>
          <td className="end">{count(credits)}</td>
          <td className="end">{count(tokens)}</td>
        </tr>
      ))}
    </Table>
  </Card>
);

function Days({ statement: { days } }: { statement: Statement }) {
  const columns = ["Day", { end: "Jobs" }, { end: "Charges" }, { end: "Deposits" }, { end: "Refunds" }];
  const rest = [{ end: "Withdrawals" }, { end: "Bonds lost" }, { end: "Closing balance" }];
  return (
    <Card title="By day" aside={<span className="hint">a job counts on the day of its charge</span>}>
      {days.length === 0 ? (
        <Empty title="Nothing changed the balance in this month" />
      ) : (
        <Table caption="Changes by day" columns={[...columns, ...rest]}>
          {days.map(({ day, jobs, charges, deposits, refunds, withdrawals, forfeited_bonds, closing }) => (
            <tr key={day}>
              <td>
                <Link to={PATHS.jobs + queryString({ from: day, to: day })}>{day}</Link>
              </td>
              {[jobs, charges, deposits, refunds, withdrawals, forfeited_bonds, closing].map((value, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the columns never change their order
                <td key={index} className="end">
                  {count(value)}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
}

/** A row a day, and the month as the last one; each adds up by itself. */
function csvRows({ month, opening, closing, sums, days }: Statement) {
  const head = "day_utc,opening,deposits,refunds,charges,withdrawals,forfeited_bonds,closing,jobs".split(",");
  type Line = Pick<Statement["days"][number], "closing" | keyof Statement["sums"]>;
  const row = (name: string, before: number, line: Line) => [
    name,
    before,
    line.deposits,
    line.refunds,
    line.charges,
    line.withdrawals,
    line.forfeited_bonds,
    line.closing,
    line.jobs,
  ];
  const rows = days.map((line, index) => row(line.day, days[index - 1]?.closing ?? opening, line));
  return [head, ...rows, row(month, opening, { ...sums, closing })];
}
