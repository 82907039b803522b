import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import type { Hex } from "viem";
import { toProofHash } from "../../../protocol/answer-hash.ts";
import { toApiJobId } from "../../../protocol/job-id.ts";
import { isEvent } from "../../../verify/events.ts";
import type { ChainTransaction } from "../../contract.ts";
import { app } from "../data/app.ts";
import { foundQuery, transactionQuery } from "../data/queries.ts";
import {
  type Call,
  decodeCallOf,
  decodeTransactions,
  groupsOf,
  type JobGroup,
  type Names,
  namesOf,
  type ShownEvent,
} from "../explorer/decode.ts";
import { Arguments } from "../explorer/events.tsx";
import { hashOf } from "../explorer/find.ts";
import { arrowsOf } from "../explorer/flow.ts";
import { HashBox, type Proof } from "../explorer/hash-box.tsx";
import { JobGroups } from "../explorer/job-groups.tsx";
import { JsonLink, ListedJobs, TwinLink } from "../explorer/lists.tsx";
import { MoneyFlow } from "../explorer/money-flow.tsx";
import { RevertReason } from "../explorer/revert-reason.tsx";
import { TransactionFacts } from "../explorer/transaction-card.tsx";
import { Hash } from "../ui/copy.tsx";
import { short } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { TxHash } from "../wallet/action-status.tsx";

/** The explorer's page of one transaction, for everyone. */
export function TransactionPage() {
  const { hash = "" } = useParams();
  const transaction = useQuery(transactionQuery(hash));
  // A proof hash looks like a transaction's.
  const found = useQuery(foundQuery(transaction.isError ? hashOf(hash) : null)).data;
  return (
    <Page
      key={hash}
      title="Transaction"
      about={
        app.explorer_url === null ? (
          <Hash value={hash} what="transaction hash" full />
        ) : (
          <TxHash hash={hash as Hex} full />
        )
      }
      actions={
        <>
          <TwinLink path={`tx/${hash}`} />
          <JsonLink path={`/tx/${hash}`} name={hash} />
        </>
      }
      tab={`Transaction ${short(hash)}`}
    >
      <Loaded query={transaction} rows={3} height={120}>
        {(data) => <Contents transaction={data} />}
      </Loaded>
      {found === undefined || found.jobs.length === 0 ? null : (
        <Card title="Jobs with this proof hash">
          <ListedJobs jobs={found.jobs} empty="" />
        </Card>
      )}
      {found == null || found.block === null ? null : (
        <Card>
          <p>
            It is the hash of <Link to={`/app/block/${found.block}`}>block {found.block}</Link>.
          </p>
        </Card>
      )}
    </Page>
  );
}

/** As many arrows are read at a glance; more are folded. */
const ARROWS_SHOWN = 6;

function Contents({ transaction }: { transaction: ChainTransaction }) {
  const { contracts } = app;
  const names = namesOf(contracts);
  const call = callOf(transaction, names);
  const events = decodeTransactions([transaction], contracts).flatMap((one) => one.events);
  const groups = groupsOf(call, events, contracts);
  const arrows = arrowsOf(events, contracts);
  const proofs = proofsOf(events);
  const items = call?.items.length ?? 0;
  return (
    <>
      <TransactionFacts transaction={transaction} method={call?.name ?? null} />
      {transaction.status === "reverted" ? <Reverted transaction={transaction} call={call} names={names} /> : null}
      <Card
        title={items > 0 ? "Batch and events" : "Events"}
        aside={<span className="hint">{counted(items, groups, events.length)}</span>}
      >
        {groups.length > 0 ? (
          <JobGroups groups={groups} names={names} />
        ) : transaction.status === "reverted" ? (
          <Empty title="A reverted transaction has no events: nothing of it took effect" />
        ) : (
          <Empty title="It emitted no events" />
        )}
      </Card>
      {arrows.length > 0 ? (
        <Card title="Money">
          {arrows.length > ARROWS_SHOWN ? (
            <details>
              <summary>{arrows.length} movements</summary>
              <MoneyFlow arrows={arrows} />
            </details>
          ) : (
            <MoneyFlow arrows={arrows} />
          )}
        </Card>
      ) : null}
      {proofs.length > 0 ? (
        <Card title="Check an answer">
          <HashBox proofs={proofs} />
        </Card>
      ) : null}
      {call !== null && call.fields.length > 0 && transaction.status !== "reverted" ? (
        <Card title="What was called">
          <Called call={call} names={names} />
        </Card>
      ) : null}
    </>
  );
}

/** The call of a transaction, decoded with the ABI of the contract that it was sent to. */
const callOf = ({ input, to }: ChainTransaction, names: Names): Call | null =>
  input === null || to === null ? null : decodeCallOf(names.get(to.toLowerCase()) ?? "", input);

function counted(items: number, groups: readonly JobGroup[], events: number): string {
  const jobs = groups.filter(({ jobId }) => jobId !== null).length;
  return [
    ...(items > 0 ? [`${items} ${items === 1 ? "item" : "items"}`] : []),
    ...(jobs > 0 ? [`${jobs} ${jobs === 1 ? "job" : "jobs"}`] : []),
    `${events} ${events === 1 ? "event" : "events"}`,
  ].join(", ");
}

/** The call that a reverted transaction made, and why the contract refused it. */
function Reverted({ transaction, call, names }: { transaction: ChainTransaction; call: Call | null; names: Names }) {
  const { reverted, input } = transaction;
  return (
    <Card title="Why it reverted">
      {reverted === null ? (
        <p>
          The reason is not known. This service repeats only small calls of the escrow, and only while its node still
          has the state of that time.
        </p>
      ) : reverted.data === null ? (
        <p>What was mined before it in its block made it fail; on the state before that block the call works.</p>
      ) : (
        <p>
          <RevertReason data={reverted.data} called={transaction.to ?? undefined} />
        </p>
      )}
      {call !== null ? (
        <Called call={call} names={names} />
      ) : input === null ? null : (
        <Hash value={input} what="data" />
      )}
    </Card>
  );
}

const Called = ({ call, names }: { call: Call; names: Names }) => (
  <Arguments fields={call.fields} names={names}>
    <div>
      <dt>method</dt>
      <dd>
        <code>{call.name}</code>
      </dd>
    </div>
  </Arguments>
);

/** The hashes that workers signed, as these events show them. */
function proofsOf(events: readonly ShownEvent[]): Proof[] {
  return events.flatMap(({ audited }) => {
    const signed = audited !== null && isEvent(audited, "escrow", "JobSettled", "JobProven");
    return signed ? [{ jobId: toApiJobId(audited.args.jobId), hash: toProofHash(audited.args.proofHash) }] : [];
  });
}
