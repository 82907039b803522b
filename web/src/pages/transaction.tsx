import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { toProofHash } from "../../../protocol/answer-hash.ts";
import { isEvent } from "../../../verify/events.ts";
import { transactionQuery } from "../data/queries.ts";
import type { ChainTransaction } from "../data/types.ts";
import { decodeTransactions, namesOf, type ShownEvent } from "../explorer/decode.ts";
import { Events } from "../explorer/events.tsx";
import { arrowsOf } from "../explorer/flow.ts";
import { HashBox } from "../explorer/hash-box.tsx";
import { MoneyFlow } from "../explorer/money-flow.tsx";
import { TransactionFacts } from "../explorer/transaction-card.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { useApp } from "../wallet/use-wallet.ts";

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
  const { contracts } = useApp();
  const names = namesOf(contracts);
  const events = decodeTransactions([transaction], contracts).flatMap((one) => one.events);
  const arrows = arrowsOf(events, contracts);
  const proofs = proofsOf(events);
  return (
    <>
      <TransactionFacts transaction={transaction} />
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
        {events.length === 0 ? <Empty title="It emitted no events" /> : <Events events={events} names={names} />}
      </Card>
    </>
  );
}

/** Hashes that workers signed, as these events show them. */
export function proofsOf(events: readonly ShownEvent[]): string[] {
  return events.flatMap(({ audited }) => {
    const signed = audited !== null && isEvent(audited, "escrow", "JobSettled", "JobProven");
    return signed ? [toProofHash(audited.args.proofHash)] : [];
  });
}
