import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState } from "react";
import { Link, useParams } from "react-router";
import { getAddress } from "viem";
import { toProofHash } from "../../../protocol/answer-hash.ts";
import type { ChainJob, Job } from "../../contract.ts";
import { chainJobQuery, ownJobQuery, sessionQuery } from "../data/queries.ts";
import { useVerdict } from "../explorer/use-verdict.ts";
import type { Verdict } from "../explorer/verdict.ts";
import { Hash } from "../ui/copy.tsx";
import { capital, count, credits, short, usdg } from "../ui/format.ts";
import { AddressLink, LinkButton, ModelLink } from "../ui/links.tsx";
import { Loaded, Skeleton } from "../ui/loaded.tsx";
import { Card, Empty, Fact, Folded, Notice, Page } from "../ui/page.tsx";
import { Badge, JobBadge } from "../ui/status.tsx";
import { whyUncharged } from "../ui/why.ts";
import { TxHash } from "../wallet/action-status.tsx";
import { AnswerCard, CommandCard, MoneyCard, TimeLine } from "./job/charge-cards.tsx";
import { VerdictCard } from "./job/verdict-card.tsx";

/** Only a job's owner disputes it: the code for wallets is loaded then. */
const DisputeCard = lazy(() => import("./job/dispute-card.tsx"));
/** The code that decodes events is loaded when somebody opens them. */
const RawEvents = lazy(() => import("./job/raw-events.tsx"));

/** One job: for everyone what the chain shows of it, for its owner also what the service knows, and the dispute. */
export function JobPage() {
  const { id = "" } = useParams();
  const chain = useQuery(chainJobQuery(id));
  const session = useQuery(sessionQuery);
  const own = useQuery({ ...ownJobQuery(id), enabled: !!session.data?.session });
  const judged = useVerdict(id, chain.data);
  const timed = useLater(judged.verdict.data ?? null);
  const verdict = useLater(timed);
  const signed = verdict?.audit.proof_hash ?? chain.data?.proof_hash ?? null;
  const proof = signed === null ? null : toProofHash(signed);
  const unanswered = verdict !== null && !verdict.audit.open && signed === null;
  return (
    <Page
      key={id}
      title="Job"
      tab={tabOf(id, chain.data, verdict)}
      about={<About id={id} job={chain.data} own={own.data} />}
    >
      {chain.data ? <VerdictCard {...judged} unchecked={uncheckedOf(chain.data)} /> : null}
      {chain.data?.disputed ? <Disputed job={chain.data} /> : null}
      {chain.data ? <WhyUncharged job={chain.data} /> : null}
      {chain.data ? (
        <>
          <div className="columns">
            {timed ? <TimeLine {...timed} /> : <Waiting title="Time line" {...judged} />}
            {verdict ? <MoneyCard {...verdict} /> : <Waiting title="Money" {...judged} />}
          </div>
          <div className="columns">
            {unanswered ? null : <AnswerCard proof={proof} />}
            <CommandCard jobId={id} node={judged.node} verdict={verdict} />
          </div>
        </>
      ) : null}
      {own.data?.compensation ? <Compensation {...own.data.compensation} /> : null}
      <Suspense>{own.data && chain.data ? <DisputeCard job={own.data} chain={chain.data} /> : null}</Suspense>
      <Loaded query={chain} rows={3} height={120}>
        {(data) => (
          <>
            <Facts job={data} own={own.data} worker={own.data?.worker_address ?? verdict?.audit.worker ?? null} />
            <Folded className="card raw" summary={<RawEventsHead job={data} />}>
              {() => (
                <Suspense fallback={<Skeleton rows={4} height={48} />}>
                  <RawEvents job={data} />
                </Suspense>
              )}
            </Folded>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Which job it is, and its state. */
const About = ({ id, job, own }: { id: string; job: ChainJob | undefined; own: Job | null | undefined }) => (
  <span className="row-start">
    <Hash value={id} what="job id" full />
    {job === undefined ? null : job.status === null ? (
      <Badge tone="wait">not indexed yet</Badge>
    ) : (
      <JobBadge status={own?.status ?? job.status} />
    )}
  </span>
);

/** A value, one frame later: cards that are drawn one after the other never hold a slow phone up for long. */
function useLater<T>(value: T): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value));
    return () => clearTimeout(timer);
  }, [value]);
  return later;
}

/** `Settled, charged 40 credits.` */
function uncheckedOf({ status, credits_charged }: ChainJob): string {
  const state = capital(status ?? "sent to the chain");
  return credits_charged === 0 ? `${state}.` : `${state}, charged ${credits(credits_charged)}.`;
}

const RawEventsHead = ({ job: { transactions } }: { job: ChainJob }) => (
  <>
    Raw events{" "}
    <span className="hint">
      {transactions.length === 1 ? "of one transaction" : `of ${transactions.length} transactions`}
    </span>
  </>
);

/** In place of what the verdict tells, while there is none. */
const Waiting = ({ title, node, verdict }: { title: string } & ReturnType<typeof useVerdict>) => (
  <Card title={title}>
    {node === null || verdict.error ? (
      <Empty title="Known when a node has answered" />
    ) : (
      <Skeleton rows={4} height={30} />
    )}
  </Card>
);

/** `job_018f…314253, settled, 40 credits`. */
function tabOf(id: string, chain: ChainJob | undefined, verdict: Verdict | null): string {
  const cost = verdict === null || verdict.audit.open ? null : credits(verdict.audit.credits_charged);
  return [short(id, 8, 6), chain?.status ?? "not indexed yet", cost].filter((part) => part !== null).join(", ");
}

const Disputed = ({ job: { id, status } }: { job: ChainJob }) => (
  <Notice
    tone="info"
    title={status === "disputed" ? "This charge is in dispute" : "This charge was disputed"}
    actions={<LinkButton to={`/app/disputes/${id}`}>The dispute of this job</LinkButton>}
  >
    <p>Who says what, the votes and the ruling stand there.</p>
  </Notice>
);

type FactsProps = { job: ChainJob; own: Job | null | undefined; worker: string | null };

/** The facts that the time line does not show; for the owner also those that only the service knows. */
function Facts({ job: { model, tier, wallet, operator, proof_hash }, own, worker }: FactsProps) {
  const { prompt_tokens, completion_tokens, completion_tokens_details: details } = own?.usage ?? {};
  const reasoning = details === undefined ? "" : `, ${count(details.reasoning_tokens)} of them reasoning`;
  return (
    <Card title={own ? "Your job" : "Job"}>
      <dl className="facts">
        <Fact label="Model">
          {model === null ? (
            "–"
          ) : (
            <>
              <ModelLink id={model} /> ({tier})
            </>
          )}
        </Fact>
        <Fact label="Wallet">{wallet === null ? "–" : <AddressLink address={getAddress(wallet)} what="wallet" />}</Fact>
        <Fact label="Worker">
          {worker === null ? "–" : <Hash value={worker} what="worker address" to={`/app/workers/${worker}`} />}
        </Fact>
        <Fact label="Operator">
          {operator === null ? "–" : <Link to={`/app/operators/${operator}`}>Operator {operator}</Link>}
        </Fact>
        {own ? (
          <>
            <Fact label="Charge">
              {credits(own.credits_charged)}, {usdg(own.credits_charged)}
            </Fact>
            <Fact label="Tokens">
              {prompt_tokens == null || completion_tokens == null
                ? "–"
                : `${count(prompt_tokens)} in, ${count(completion_tokens)} out${reasoning}`}
            </Fact>
            <Fact label="Settlement transaction">
              {own.on_chain.settlement_tx === null ? "–" : <TxHash hash={own.on_chain.settlement_tx} />}
            </Fact>
          </>
        ) : null}
        <Fact label="Proof">
          {proof_hash === null ? "–" : <Hash value={toProofHash(proof_hash)} what="proof hash" />}
        </Fact>
      </dl>
    </Card>
  );
}

function WhyUncharged({ job }: { job: ChainJob }) {
  const why = whyUncharged(job);
  if (why === null) return null;
  return (
    <Notice tone="info" title={job.status === "failed" ? "Why this job failed" : "Why this job was refunded"}>
      <p>
        {why[1]} {job.status === "failed" ? "Nothing was charged." : ""}
      </p>
    </Notice>
  );
}

/** The credits that operator and treasury give back. If only a part is paid so far, it says so, and what brings the rest. */
function Compensation({ credits_due, credits_paid, credits_outstanding }: NonNullable<Job["compensation"]>) {
  const isPart = credits_outstanding > 0;
  return (
    <Notice
      tone={isPart ? "warn" : "good"}
      title={`${isPart ? "Given back in part" : "Given back"}: ${count(credits_paid)} of ${credits(credits_due)}`}
    >
      {isPart ? (
        <p>
          {credits(credits_outstanding)} are still to come: the treasury had too little, or its limit of the day was
          reached. The debt stays on the chain. Anyone can have it paid with <code>collectDebt</code> of the escrow, as
          soon as the treasury has more or a new day (UTC) has begun. You see it here, and as a{" "}
          <code>credit.topup</code> event.
        </p>
      ) : null}
      {Number.isInteger(credits_paid) ? null : <p>The fraction of a credit waits as USDG: claim it under Fund.</p>}
    </Notice>
  );
}
