/** The sections of the governance page that everybody sees. */
import type { ReactNode } from "react";
import { toApiJobId } from "../../../../protocol/job-id.ts";
import { sharePercent } from "../../../../protocol/pricing.ts";
import type { ProposalState } from "../../../../protocol/proposal-states.ts";
import { useNow } from "../../ui/clock.ts";
import { Button } from "../../ui/controls.tsx";
import { momentOf, percent, units } from "../../ui/format.ts";
import { AddressLink, JobLink } from "../../ui/links.tsx";
import { Card, Empty, Fact } from "../../ui/page.tsx";
import { Badge } from "../../ui/status.tsx";
import { Table } from "../../ui/table.tsx";
import { TxHash } from "../../wallet/action-status.tsx";
import { Actions, amountOf, svcOf, titleOf } from "./actions.tsx";
import type { Governance, Proposal } from "./chain.ts";
import { lifeOf } from "./life.ts";

type SectionsProps = {
  governance: Governance;
  older: () => void;
  /** The actions that the wallet can take on a proposal. */
  deeds?: (proposal: Proposal) => ReactNode;
};

export function Sections({ governance, older, deeds }: SectionsProps) {
  return (
    <>
      <Proposals governance={governance} older={older} {...(deeds ? { deeds } : {})} />
      <Queue governance={governance} />
      <Treasury governance={governance} />
      <Rules governance={governance} />
    </>
  );
}

const TONES: Record<ProposalState, "good" | "bad" | "wait" | "mild"> = {
  pending: "wait",
  active: "wait",
  canceled: "mild",
  defeated: "bad",
  succeeded: "good",
  queued: "wait",
  expired: "mild",
  executed: "good",
};
const OVER: ReadonlySet<ProposalState> = new Set(["canceled", "defeated", "expired", "executed"]);

function Proposals({ governance: { proposals, from, now }, older, deeds }: SectionsProps) {
  return (
    <Card title="Proposals">
      {proposals.length === 0 ? <Empty title="Nothing was proposed" /> : null}
      <div className="groups proposals">
        {proposals.map((proposal) => (
          <details key={String(proposal.id)} open={!OVER.has(proposal.state)}>
            <summary>
              <span>{headOf(proposal)}</span>
              <Badge tone={TONES[proposal.state]}>{proposal.state}</Badge>
            </summary>
            <Actions actions={proposal.actions} />
            <Life proposal={proposal} now={now} />
            <Tally proposal={proposal} />
            <p className="hint wrap description">{proposal.description}</p>
            <p className="hint">
              Proposed by <AddressLink address={proposal.proposer} what="proposer" />
            </p>
            {deeds?.(proposal)}
          </details>
        ))}
      </div>
      {from === null ? null : (
        <div className="row">
          <p className="hint">Everything since block {Number(from).toLocaleString("en-US")}.</p>
          <Button onClick={older}>Look further back</Button>
        </div>
      )}
    </Card>
  );
}

/** Titles a proposal by the calls that it makes: its description can say anything. */
function headOf({ actions }: Proposal): string {
  const [first] = actions;
  if (first === undefined) return "It calls nothing";
  return actions.length === 1 ? titleOf(first) : `${titleOf(first)}, and ${actions.length - 1} more`;
}

/** From the proposal to what it does, step by step. */
const Life = ({ proposal, now }: { proposal: Proposal; now: number }) => (
  <ol className="life" aria-label="Life of the proposal">
    {lifeOf(proposal, now).map(({ title, at, is, note, tx }) => (
      <li key={title} className={`step ${is}`} aria-current={is === "next" ? "step" : undefined}>
        <p className="step-title">{title}</p>
        <div className="step-text">
          {at === null ? null : <time dateTime={new Date(at * 1_000).toISOString()}>{momentOf(at)}</time>}
          {tx === undefined ? null : <TxHash hash={tx} />}
          {note}
        </div>
      </li>
    ))}
  </ol>
);

/** The votes as a bar and as numbers, and whether enough take part. */
function Tally({ proposal: { inFavour, against, abstain, quorum } }: { proposal: Proposal }) {
  const shares = [
    { to: "For", value: inFavour, name: "worker" },
    { to: "Against", value: against, name: "against" },
    { to: "Abstained", value: abstain, name: "returned" },
  ];
  const part = inFavour + abstain;
  const reached = quorum === 0n ? 1 : Math.min(1, Number((part * 1_000n) / quorum) / 1_000);
  return (
    <>
      <div className="split" aria-hidden="true">
        {shares.map(({ to, value, name }) => (
          <span key={to} className={`share ${name}`} style={{ flexGrow: Number(value / 10n ** 12n) }} />
        ))}
      </div>
      <dl className="shares">
        {shares.map(({ to, value, name }) => (
          <div key={to}>
            <dt className={`share ${name}`}>{to}</dt>
            <dd>{svcOf(value)}</dd>
          </div>
        ))}
      </dl>
      <p className="hint">
        {part >= quorum ? "Enough take part" : `${percent(reached)} of the votes that must take part`}: for and
        abstained must reach {svcOf(quorum)}.
      </p>
    </>
  );
}

/** All that waits in the timelock, whoever put it there. */
function Queue({ governance: { operations, now } }: { governance: Governance }) {
  const clock = useNow() / 1_000;
  return (
    <Card title="Timelock's queue">
      {operations.length === 0 ? (
        <Empty title="Nothing waits" />
      ) : (
        <Table caption="What waits in the timelock" columns={["What", "Queued in", { end: "Executable from" }]}>
          {operations.map(({ id, actions, readyAt, tx }) => (
            <tr key={id}>
              <td className="breaks">{actions.map(titleOf).join("; ")}</td>
              <td>
                <TxHash hash={tx} />
              </td>
              <td className="end">{Math.max(now, clock) >= readyAt ? "now" : momentOf(readyAt)}</td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
}

const PAYMENTS_SHOWN = 20;

function Treasury({ governance: { treasury, payments } }: { governance: Governance }) {
  return (
    <Card title="Treasury" aside={<AddressLink address={treasury.address} what="treasury's address" />}>
      <dl className="facts">
        <Fact label="Holds in stablecoin">{units(treasury.stablecoin, 6)} USDG</Fact>
        <Fact label="Holds in SVC">{svcOf(treasury.svc)}</Fact>
      </dl>
      {payments.length === 0 ? (
        <Empty title="It has paid nothing yet" />
      ) : (
        <Table caption="What the treasury paid, newest first" columns={["Paid", "To", { end: "Transaction" }]}>
          {payments.slice(0, PAYMENTS_SHOWN).map(({ token, units: value, receiver, jobId, tx }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a transaction can hold several
            <tr key={`${tx} ${index}`}>
              <td>{amountOf(token, value)}</td>
              <td>
                {receiver === null ? (
                  jobId === null ? null : (
                    <JobLink id={toApiJobId(jobId)} />
                  )
                ) : (
                  <AddressLink address={receiver} what="receiver" />
                )}
              </td>
              <td className="end">
                <TxHash hash={tx} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
}

/** `2 days`, `36 h`, `30 s`. */
function span(seconds: number): string {
  if (seconds >= 86_400 && seconds % 86_400 === 0) return `${seconds / 86_400} ${seconds === 86_400 ? "day" : "days"}`;
  return seconds >= 3_600 ? `${Math.round(seconds / 360) / 10} h` : `${seconds} s`;
}

/** The rules of a decision, and the settings in force. */
function Rules({ governance: { rules } }: { governance: Governance }) {
  return (
    <Card title="Rules in force">
      <dl className="facts">
        <Fact label="To propose">{svcOf(rules.threshold)}</Fact>
        <Fact label="Vote begins after">{span(rules.delay)}</Fact>
        <Fact label="Vote lasts">{span(rules.period)}</Fact>
        <Fact label="Must take part">{svcOf(rules.quorum)}</Fact>
        <Fact label="Timelock">{span(rules.wait)}</Fact>
        <Fact label="Protocol fee">{rules.fee / 100} %</Fact>
        <Fact label="Operators’ share of the fee">{sharePercent(rules.share)} %</Fact>
        <Fact label="Deposits and locks">{rules.paused ? "paused" : "open"}</Fact>
        <Fact label="Guardian">
          <AddressLink address={rules.guardian} what="guardian" />
        </Fact>
        <Fact label={`Arbiters, ${rules.arbiterQuorum} of whom rule`}>
          {rules.arbiters.map((arbiter) => (
            <AddressLink key={arbiter} address={arbiter} what="arbiter" />
          ))}
        </Fact>
      </dl>
    </Card>
  );
}
