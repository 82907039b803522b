import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { toProofHash } from "../../../protocol/answer-hash.ts";
import { toApiJobId } from "../../../protocol/job-id.ts";
import { isEvent } from "../../../verify/events.ts";
import { app } from "../data/app.ts";
import { transactionQuery } from "../data/queries.ts";
import type { ChainTransaction } from "../data/types.ts";
import { decodeCall, decodeTransactions, labelOf, type Names, namesOf, type ShownEvent } from "../explorer/decode.ts";
import { Events } from "../explorer/events.tsx";
import { arrowsOf } from "../explorer/flow.ts";
import { HashBox, type Proof } from "../explorer/hash-box.tsx";
import { MoneyFlow } from "../explorer/money-flow.tsx";
import { TransactionFacts } from "../explorer/transaction-card.tsx";
import { Value } from "../explorer/value.tsx";
import { Hash } from "../ui/copy.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { revertReason } from "../wallet/errors.ts";

/** The explorer's page of one transaction, for everyone. */
export function TransactionPage() {
  const { hash = "" } = useParams();
  const transaction = useQuery(transactionQuery(hash));
  return (
    <Page title="Transaction" about="Read from the chain; decoded in your browser.">
      <Loaded query={transaction} rows={3} height={120}>
        {(data) => <Contents transaction={data} />}
      </Loaded>
    </Page>
  );
}

function Contents({ transaction }: { transaction: ChainTransaction }) {
  const { contracts } = app;
  const names = namesOf(contracts);
  const events = decodeTransactions([transaction], contracts).flatMap((one) => one.events);
  const arrows = arrowsOf(events, contracts);
  const proofs = proofsOf(events);
  return (
    <>
      <TransactionFacts transaction={transaction} />
      {transaction.reverted ? <Reverted reverted={transaction.reverted} names={names} /> : null}
      {arrows.length > 0 ? (
        <Card title="Money">
          <MoneyFlow arrows={arrows} />
        </Card>
      ) : null}
      {proofs.length > 0 ? (
        <Card title="Check an answer">
          <HashBox proofs={proofs} />
        </Card>
      ) : null}
      <Card title="Events" aside={<span className="hint">{events.length}</span>}>
        {transaction.status === "reverted" ? (
          <Empty title="A reverted transaction has no events: nothing of it took effect" />
        ) : events.length === 0 ? (
          <Empty title="It emitted no events" />
        ) : (
          <Events events={events} names={names} />
        )}
      </Card>
    </>
  );
}

/** What a reverted transaction asked for, and why the contract refused it. */
function Reverted({ reverted, names }: { reverted: NonNullable<ChainTransaction["reverted"]>; names: Names }) {
  const call = decodeCall(reverted.input);
  return (
    <Card title="Why it reverted">
      {reverted.data === null ? (
        <p>What was mined before it in its block made it fail; on the state before that block the call works.</p>
      ) : (
        <p>{revertReason(reverted.data)}</p>
      )}
      <dl className="arguments">
        <div>
          <dt>method</dt>
          <dd>{call === null ? <Hash value={reverted.input} what="data" /> : <code>{call.name}</code>}</dd>
        </div>
        {call?.fields.map((field) => (
          <div key={field.name}>
            <dt>{labelOf(field.name)}</dt>
            <dd>
              <Value field={field} names={names} />
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

/** What workers signed, as these events show it. */
export function proofsOf(events: readonly ShownEvent[]): Proof[] {
  return events.flatMap(({ audited }) => {
    const signed = audited !== null && isEvent(audited, "escrow", "JobSettled", "JobProven");
    return signed ? [{ jobId: toApiJobId(audited.args.jobId), hash: toProofHash(audited.args.proofHash) }] : [];
  });
}
