import { useQuery } from "@tanstack/react-query";
import { Fragment, lazy, type ReactNode, Suspense, useState } from "react";
import { useParams } from "react-router";
import { type Address, type Hex, zeroHash } from "viem";
import { toProofHash } from "../../../protocol/answer-hash.ts";
import { fromApiJobId } from "../../../protocol/job-id.ts";
import { decodeJobWord } from "../../../protocol/words.ts";
import { type AnyEvent, eventsOf } from "../../../verify/events.ts";
import type { ChainJob, Dispute } from "../../contract.ts";
import { app } from "../data/app.ts";
import { chainJobQuery, disputeQuery, operatorQuery, transactionQuery } from "../data/queries.ts";
import { decodeTransactions, eventsOfJob } from "../explorer/decode.ts";
import { arrowsOf } from "../explorer/flow.ts";
import { AnswerInput, HashOf } from "../explorer/hash-box.tsx";
import { JsonLink } from "../explorer/lists.tsx";
import { MoneyFlow } from "../explorer/money-flow.tsx";
import { useNow } from "../ui/clock.ts";
import { Button } from "../ui/controls.tsx";
import { Hash } from "../ui/copy.tsx";
import { count, countdown, credits, moment, momentOf, short } from "../ui/format.ts";
import { AddressLink, JobLink } from "../ui/links.tsx";
import { Loaded, Skeleton } from "../ui/loaded.tsx";
import { Card, Empty, Fact, Page } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";
import { Table } from "../ui/table.tsx";
import { TxHash } from "../wallet/action-status.tsx";
import type { Evidence } from "./dispute/evidence.ts";
import { consequence, RULINGS, RulingBadge, VOTES } from "./dispute/rulings.tsx";
import { OpenBadge } from "./disputes.tsx";

/** Only who wants to act needs the code for wallets. */
const Desk = lazy(() => import("./dispute/desk.tsx"));

/** One dispute, for everybody: who says what and signed it, the votes, the end and what it paid. Arbiters vote here. */
export function DisputePage() {
  const { id = "" } = useParams();
  const dispute = useQuery(disputeQuery(id));
  const chain = useQuery({ ...chainJobQuery(id), enabled: dispute.data !== undefined });
  return (
    <Page
      key={id}
      title="Dispute"
      tab={`Dispute of ${short(id, 8, 6)}`}
      about={
        <>
          of job <Hash value={id} what="job id" to={`/app/jobs/${id}`} full />
        </>
      }
      actions={<JsonLink path={`/disputes/${id}`} name={`dispute-${id}`} />}
    >
      <Loaded query={dispute} rows={4} height={110}>
        {(data) => <Contents dispute={data} chain={chain.data} />}
      </Loaded>
    </Page>
  );
}

function Contents({ dispute, chain }: { dispute: Dispute; chain: ChainJob | undefined }) {
  const jobId = fromApiJobId(dispute.job_id) as Hex;
  const { contracts } = app;
  const decoded = decodeTransactions(chain?.transactions ?? [], contracts);
  const events = decoded.flatMap((one) => one.events.flatMap(({ audited }) => audited ?? []));
  const evidence = useEvidence(dispute, events, operatorOf(events, jobId));
  return (
    <>
      <State dispute={dispute} />
      <Claims dispute={dispute} evidence={evidence} />
      <Votes dispute={dispute} />
      <Act dispute={dispute} evidence={evidence} events={events} />
      {dispute.resolved_tx === null ? null : <Paid dispute={dispute} decoded={decoded} />}
    </>
  );
}

/** The operator that ran the job, by its lock. */
function operatorOf(events: readonly AnyEvent[], jobId: Hex): number | null {
  const locked = eventsOf(events, "escrow", "JobLocked").find(({ args }) => args.jobId === jobId);
  return locked === undefined ? null : decodeJobWord(locked.args.job).operator;
}

/** Reads the call that opened the dispute; undefined until it is read. */
function useEvidence(dispute: Dispute, events: readonly AnyEvent[], number: number | null) {
  const opened = useQuery(transactionQuery(dispute.opened_tx));
  const operator = useQuery({ ...operatorQuery(String(number)), enabled: number !== null });
  const deployment = { chainId: app.chain_id, escrow: app.contracts["InferenceEscrow"] as Address };
  return useQuery({
    queryKey: ["evidence", dispute.opened_tx, dispute.job_id, events.length, operator.data?.signers],
    // Checking signatures needs much code, which the page does not wait for.
    queryFn: async () => {
      const { readEvidence } = await import("./dispute/evidence.ts");
      return await readEvidence({ dispute, events, opened: opened.data as never, operator: operator.data }, deployment);
    },
    enabled: opened.data !== undefined && events.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before) => before,
  }).data;
}

/** The state of the dispute in one sentence, with the time that is left. */
function State({ dispute }: { dispute: Dispute }) {
  const now = useNow();
  const { opened_by, ruling, rule_from, rule_before } = dispute;
  return (
    <Card
      title="State"
      aside={ruling === null ? <OpenBadge dispute={dispute} now={now} /> : <RulingBadge ruling={ruling} />}
    >
      <p className="headline">
        {ruling !== null ? (
          `${RULINGS[ruling]}. ${consequence(ruling, dispute)}`
        ) : (
          <OpenSentence dispute={dispute} now={now} />
        )}
      </p>
      <dl className="facts">
        <Fact label="Opened by">
          {opened_by === "operator" ? "the operator, for the client" : "the client's own wallet"}
        </Fact>
        <Fact label="Opened">
          {moment(dispute.opened_at)} <TxHash hash={dispute.opened_tx} />
        </Fact>
        <Fact label="Client's wallet">
          <AddressLink address={dispute.wallet} what="client's wallet" />
        </Fact>
        <Fact label="Worker">
          <Hash value={dispute.worker} what="worker address" to={`/app/workers/${dispute.worker}`} />
        </Fact>
        <Fact label={dispute.from_proven ? "Charge in dispute, not paid yet" : "Charge in dispute"}>
          {credits(dispute.credits)}
        </Fact>
        <Fact label="Bond">{dispute.bond === 0 ? "none" : credits(dispute.bond)}</Fact>
        <Fact label="Votes count from">{moment(rule_from)}</Fact>
        <Fact label="To be ruled before">{moment(rule_before)}</Fact>
        {dispute.resolved_at === null || dispute.resolved_tx === null ? null : (
          <Fact label="Ended">
            {moment(dispute.resolved_at)} <TxHash hash={dispute.resolved_tx} />
          </Fact>
        )}
      </dl>
    </Card>
  );
}

function OpenSentence({ dispute, now }: { dispute: Dispute; now: number }) {
  const [from, before] = [Date.parse(dispute.rule_from), Date.parse(dispute.rule_before)];
  const timer = (ms: number) => <span role="timer">{countdown(ms)}</span>;
  if (now < from) return <>Votes count in {timer(from - now)}: until then the client can say what it received.</>;
  if (now < before) return <>The arbiters have {timer(before - now)} left to rule.</>;
  return <>The arbiters did not rule in time: anybody can end the dispute.</>;
}

/** The hashes that client, operator and worker named, which of them are the worker's, and which one a pasted text has. */
function Claims({ dispute, evidence }: { dispute: Dispute; evidence: Evidence | undefined }) {
  const [pasted, setPasted] = useState<string | null>(null);
  const { received_hash, joined_hash, worker_hash, opened_by } = dispute;
  const client = "The client's wallet says that it received";
  return (
    <Card title="Who says what">
      <ul className="claims">
        <Claim who="The worker signed" hash={worker_hash} worker={null} pasted={pasted}>
          {evidence?.completion ? <Signature evidence={evidence.completion} /> : null}
        </Claim>
        {evidence?.delivery ? (
          <Claim
            who="The gateway signed that it sent"
            hash={evidence.delivery.sentHash}
            worker={worker_hash}
            pasted={pasted}
          >
            <Statement delivery={evidence.delivery} />
          </Claim>
        ) : null}
        <Claim
          who={opened_by === "operator" ? "The operator says that the client received" : client}
          hash={received_hash}
          worker={worker_hash}
          pasted={pasted}
        >
          {opened_by === "operator" ? "As the client told it." : "In its own transaction."}
        </Claim>
        {joined_hash === null ? null : (
          <Claim who={client} hash={joined_hash} worker={worker_hash} pasted={pasted}>
            In its own transaction, after the operator had opened the dispute.
          </Claim>
        )}
      </ul>
      {evidence?.delivery === null && opened_by === "operator" ? (
        <p className="hint">No gateway signed what it sent.</p>
      ) : null}
      {evidence?.convicted ? (
        <p>
          <Badge tone="bad">two answers</Badge> The worker was shown to have signed two different answers for this job.
        </p>
      ) : null}
      <AnswerInput label="Compare a text with all of them" onHash={(hash) => setPasted(hash)} />
      <div aria-live="polite">
        {pasted === null ? null : <HashOf hash={pasted}> {matches(pasted, dispute, evidence)}</HashOf>}
      </div>
      {evidence?.calldata ? (
        <details>
          <summary>The call that opened the dispute, as the chain has it</summary>
          <p className="hint wrap">
            <code>{evidence.calldata}</code>
          </p>
        </details>
      ) : null}
    </Card>
  );
}

function matches(pasted: string, { worker_hash, received_hash, joined_hash }: Dispute, evidence?: Evidence): string {
  const named: [Hex | null | undefined, string][] = [
    [worker_hash, "what the worker signed"],
    [evidence?.delivery?.sentHash, "what the gateway signed that it sent"],
    [received_hash, "what the dispute was opened with"],
    [joined_hash, "what the client's wallet added"],
  ];
  const same = named.flatMap(([hash, what]) => (hash && toProofHash(hash) === pasted ? what : []));
  return same.length === 0 ? "It is none of them." : `It is ${same.join(", and ")}.`;
}

/** `worker`: the hash to compare with, null for the worker's own. */
function Claim({
  who,
  hash,
  worker,
  pasted,
  children,
}: {
  who: string;
  hash: Hex;
  worker: Hex | null;
  pasted: string | null;
  children: ReactNode;
}) {
  const isSame = hash === worker;
  return (
    <li>
      <p>
        {who} {hash === zeroHash ? <strong>nothing</strong> : <Hash value={toProofHash(hash)} what="hash" />}
      </p>
      <p className="tags">
        {worker === null ? null : (
          <Badge tone={isSame ? "good" : "bad"}>{isSame ? "the worker's hash" : "another hash"}</Badge>
        )}
        {pasted === toProofHash(hash) ? <Badge tone="wait">your text</Badge> : null}
      </p>
      <p className="hint">{children}</p>
    </li>
  );
}

function Signature({ evidence }: { evidence: NonNullable<Evidence["completion"]> }) {
  const { signer, valid, completionTokens, completedAt } = evidence;
  return (
    <>
      {count(completionTokens)} output tokens, finished {momentOf(completedAt)}.{" "}
      {signer === null
        ? valid
          ? "It proved this on the chain before."
          : "The signature is nobody's."
        : valid
          ? "The signature is good."
          : `The signature is of ${signer}, who is not the worker.`}
    </>
  );
}

function Statement({ delivery }: { delivery: NonNullable<Evidence["delivery"]> }) {
  const { complete, signer, inOffice } = delivery;
  return (
    <>
      {complete ? "All of it was sent." : "Only a part of it was sent."}{" "}
      {inOffice === false
        ? "It says nothing: the signer was no key of the job's operator."
        : "Signed by a key of the job's operator."}{" "}
      {signer === null ? null : <AddressLink address={signer} what="signer" />}
    </>
  );
}

/** The votes for each ruling: how many there are, how many it needs, and whose they are. */
function Votes({ dispute }: { dispute: Dispute }) {
  const { votes, quorum, arbiters, ballots, arbiter_set } = dispute;
  return (
    <Card
      title="Votes"
      aside={
        <span className="hint">
          {quorum === null ? "" : `${quorum} of ${arbiters.length} arbiters of set ${arbiter_set} make a ruling`}
        </span>
      }
    >
      <Table caption="Votes so far" columns={["Ruling", { end: "Votes" }, "Arbiters"]}>
        {VOTES.map((vote) => (
          <tr key={vote}>
            <td>{RULINGS[vote]}</td>
            <td className="end">
              {votes[vote]}
              {quorum === null ? "" : ` of ${quorum}`}
            </td>
            <td>
              {ballots
                .filter(({ ruling }) => ruling === vote)
                .map(({ arbiter }) => (
                  <Fragment key={arbiter}>
                    <AddressLink address={arbiter} what="arbiter" />{" "}
                  </Fragment>
                ))}
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

/** The way to whatever a wallet can do about the dispute. */
function Act({
  dispute,
  evidence,
  events,
}: Omit<Parameters<typeof Desk>[0], "evidence"> & { evidence: Evidence | undefined }) {
  const [isOpen, setOpen] = useState(false);
  if (dispute.ruling !== null && !isOpen) return null;
  if (!isOpen) {
    return (
      <div className="row">
        <p className="hint">
          Arbiters vote with their wallet; the client can say what it received; anybody can end a dispute in which
          nobody ruled.
        </p>
        <Button kind="primary" onClick={() => setOpen(true)}>
          Act with a wallet
        </Button>
      </div>
    );
  }
  if (evidence === undefined) return <Skeleton rows={2} height={60} />;
  return (
    <Suspense fallback={<Skeleton rows={2} height={60} />}>
      <Desk dispute={dispute} evidence={evidence} events={events} />
    </Suspense>
  );
}

/** The payments at the end of the dispute, in its own transaction and in later ones. */
function Paid({ dispute, decoded }: { dispute: Dispute; decoded: ReturnType<typeof decodeTransactions> }) {
  const { contracts } = app;
  const ends = /^(DisputeResolved|Compensated|OperatorCharged)$/;
  const events = decoded
    .map((one) => eventsOfJob(one.events, dispute.job_id, contracts))
    .filter((own) => own.some(({ name }) => name !== null && ends.test(name)))
    .flat();
  const arrows = arrowsOf(events, contracts);
  return (
    <Card title="What it paid">
      {arrows.length === 0 ? <Empty title="It moved no money" /> : <MoneyFlow arrows={arrows} />}
      <p className="hint">
        The whole account of <JobLink id={dispute.job_id} /> is on its page.
      </p>
    </Card>
  );
}
