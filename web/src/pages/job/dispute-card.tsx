import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { Hex } from "viem";
import { toProofHash } from "../../../../protocol/answer-hash.ts";
import type { ChainJob, Job } from "../../../contract.ts";
import { app } from "../../data/app.ts";
import { ApiFailure, call } from "../../data/client.ts";
import { decodeJob } from "../../explorer/decode.ts";
import { type DisputeFacts, disputeFacts, type OpenDispute } from "../../explorer/dispute-facts.ts";
import { AnswerInput, HashOf } from "../../explorer/hash-box.tsx";
import { useNow } from "../../ui/clock.ts";
import { Button } from "../../ui/controls.tsx";
import { Hash } from "../../ui/copy.tsx";
import { countdown, credits, momentOf } from "../../ui/format.ts";
import { Card, Failure, Notice } from "../../ui/page.tsx";
import { ActionStatus, TxHash } from "../../wallet/action-status.tsx";
import { ConnectNotice } from "../../wallet/connect.tsx";
import { walletErrorMessage } from "../../wallet/errors.ts";
import { bondOf, joinDispute, openDispute } from "../../wallet/ledger.ts";
import { WithWallet } from "../../wallet/own-pages.tsx";
import { useConnectedTransaction, useTransaction } from "../../wallet/use-transaction.ts";

/** Answer of the dispute route: opened, or not because the hashes are equal. */
type Opened = {
  dispute_opened: boolean;
  your_hash: string;
  worker_hash: string;
  dispute_tx?: Hex | null;
  arbitration_window_hours?: number;
};

/** States in which a dispute makes sense. */
const DISPUTABLE = new Set(["settling", "settled"]);

/** Until when the charge can be disputed, ms since the epoch: through the service, and by the wallet itself; null while nobody knows yet. */
function dueOf(job: Job, { signed, freeBefore }: DisputeFacts): { service: number; wallet: number } | null {
  if (freeBefore !== null) return { service: 0, wallet: freeBefore * 1_000 };
  if (signed === null) return null;
  const settled = job.completed_at === null ? Number.POSITIVE_INFINITY : Date.parse(job.completed_at);
  return {
    service: (signed.completion.completedAt + app.dispute_seconds) * 1_000,
    wallet: settled + app.wallet_dispute_seconds * 1_000,
  };
}

/** Disputes a job with the text the client received, hashed here: through the service, or by the wallet itself. */
export default function DisputeCard({ job, chain }: { job: Job; chain: ChainJob }) {
  const events = useMemo(() => decodeJob(chain, app.contracts).flatMap((one) => one.events), [chain]);
  return (
    <WithWallet>
      <Dispute job={job} facts={disputeFacts(events.flatMap(({ audited }) => audited ?? []))} />
    </WithWallet>
  );
}

function Dispute({ job, facts }: { job: Job; facts: DisputeFacts }) {
  const cache = useQueryClient();
  const [open, setOpen] = useState(false);
  const [hash, setHash] = useState<string | null>(null);
  const now = useNow();
  const dispute = useMutation({
    mutationFn: (received_output_hash: string) =>
      call<Opened>("POST", `/jobs/${job.id}/dispute`, { received_output_hash }),
    onSuccess: () => cache.invalidateQueries(),
  });
  const { state, busy, connected, send, reset } = useTransaction();
  const byWallet = (received: string) => {
    dispute.reset();
    return send((sender) => openDispute(sender, facts, received));
  };
  const opened = dispute.data?.dispute_opened === true || state.step === "done";
  const untouched = dispute.data === undefined && state.step === "idle";
  if (job.status === "disputed" && untouched) return facts.open && <Join dispute={facts.open} />;
  if (!DISPUTABLE.has(job.status) && untouched) return null;
  const { freeBefore } = facts;
  const due = dueOf(job, facts);
  const byService = freeBefore === null && (due === null || now < due.service);
  const closed = due !== null && !byService && now >= due.wallet;
  if (closed && untouched) return <p className="hint">The time to dispute this charge is over.</p>;
  const left =
    due === null || !Number.isFinite(due.wallet)
      ? ""
      : byService
        ? ` The service does it for you for another ${countdown(due.service - now)}, your wallet itself for longer.`
        : ` Your wallet can for another ${countdown(due.wallet - now)}.`;
  if (!open) {
    return (
      <div className="row">
        <p className="hint">
          {freeBefore !== null
            ? `The worker signed two different answers: your wallet can dispute the charge without a bond until ${momentOf(freeBefore)}.`
            : byService
              ? `Received another text than the worker signed? You can dispute the charge.${left}`
              : `The service opens no dispute of this job any more. It takes a bond.${left}`}
        </p>
        <Button onClick={() => setOpen(true)}>Dispute…</Button>
      </div>
    );
  }
  return (
    <Card title="Dispute the charge">
      <AnswerInput label="The whole answer as you received it" onHash={setHash} />
      {hash === null ? null : (
        <HashOf hash={hash}>
          {hash === job.on_chain.proof_hash
            ? " equals the proof: there is nothing to dispute."
            : " differs from the proof."}
        </HashOf>
      )}
      {connected ? null : <ConnectNotice />}
      <div className="actions">
        {byService ? (
          <Button
            kind="danger"
            busy={dispute.isPending}
            disabled={hash === null || opened || busy}
            onClick={() => {
              reset();
              dispute.mutate(hash as string);
            }}
          >
            Open the dispute
          </Button>
        ) : null}
        <Button
          busy={busy}
          disabled={hash === null || opened || dispute.isPending || !connected || facts.signed === null}
          onClick={() => void byWallet(hash as string)}
        >
          Dispute with my wallet
        </Button>
        <Button onClick={() => setOpen(false)}>Not now</Button>
      </div>
      <p className="hint">
        {freeBefore === null
          ? `${byService ? "The service opens it for you at no cost. " : ""}Your wallet can do it without the service: it puts up ${credits(bondOf(facts.charge))}, which come back unless the dispute is rejected. Credits that you lack for it are bought with your wallet's USDG.`
          : "It costs your wallet no bond, because the worker signed two different answers."}
      </p>
      <ActionStatus state={state} done="The dispute is open" />
      {dispute.data ? <Outcome result={dispute.data} /> : null}
      {dispute.error ? <Failure message={disputeFailure(dispute.error)} /> : null}
      {opened && facts.open !== null ? <Join dispute={facts.open} /> : null}
    </Card>
  );
}

/** Adds the wallet's own hash to a dispute that its operator opened, while the panel may not rule yet. */
export function Join({ dispute }: { dispute: OpenDispute }) {
  const { state, busy, connected, send } = useConnectedTransaction();
  const [hash, setHash] = useState<string | null>(null);
  const { byOperator, joined, ruleFrom, receivedHash } = dispute;
  const possible = byOperator && !joined && ruleFrom * 1_000 > Date.now();
  if (!possible && state.step === "idle") return null;
  return (
    <Card title="Say what you received">
      <p>
        Until {momentOf(ruleFrom)} your wallet can add its own hash to the dispute, once and without a bond; the
        arbiters see both. The operator says that you received{" "}
        <Hash value={toProofHash(receivedHash)} what="hash of the dispute" />
      </p>
      <AnswerInput label="The answer as your wallet's owner received it" onHash={setHash} />
      {hash === null ? null : <HashOf hash={hash} />}
      <div className="actions">
        <Button
          kind="primary"
          busy={busy}
          disabled={hash === null || joined || !connected}
          onClick={() => void send(joinDispute(dispute.jobId, hash as string))}
        >
          Join the dispute
        </Button>
      </div>
      <ActionStatus state={state} done="Your hash is part of the dispute" />
    </Card>
  );
}

function Outcome({ result }: { result: Opened }) {
  if (!result.dispute_opened) {
    return (
      <Notice tone="info" title="No dispute was opened">
        <p>What you received is what the worker signed.</p>
      </Notice>
    );
  }
  return (
    <Notice tone="good" title="The dispute is open">
      <p>The panel rules within {result.arbitration_window_hours ?? 24} hours.</p>
      {result.dispute_tx ? <TxHash hash={result.dispute_tx} /> : null}
    </Notice>
  );
}

function disputeFailure(error: Error) {
  if (error instanceof ApiFailure && error.code === "dispute_window_expired") {
    return { title: "Too late for a dispute", text: error.message };
  }
  return walletErrorMessage(error);
}
