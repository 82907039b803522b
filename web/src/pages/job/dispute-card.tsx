import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Hex } from "viem";
import { ApiFailure, call } from "../../data/client.ts";
import type { Job } from "../../data/types.ts";
import { AnswerInput } from "../../explorer/hash-box.tsx";
import { Button } from "../../ui/controls.tsx";
import { Hash } from "../../ui/copy.tsx";
import { Card, Failure, Notice } from "../../ui/page.tsx";
import { ActionStatus, TxHash } from "../../wallet/action-status.tsx";
import { BOND, openDispute } from "../../wallet/dispute.ts";
import { tell } from "../../wallet/errors.ts";
import { useWalletContext } from "../../wallet/use-token.ts";
import { useAction, useWallet } from "../../wallet/use-wallet.ts";

/** Answer of the dispute route: opened, or not because the hashes are equal. */
type Opened = {
  dispute_opened: boolean;
  your_hash: string;
  worker_hash: string;
  dispute_tx?: Hex | null;
  arbitration_window_hours?: number;
};

/** States in which a dispute makes sense; the service says whether there is still time. */
const DISPUTABLE = new Set(["settling", "settled"]);

/** Disputes a job with the text the client received, hashed here: through the service, or by the wallet itself. */
export function DisputeCard({ job }: { job: Job }) {
  const cache = useQueryClient();
  const [open, setOpen] = useState(false);
  const [hash, setHash] = useState<string | null>(null);
  const dispute = useMutation({
    mutationFn: (received_output_hash: string) =>
      call<Opened>("POST", `/jobs/${job.id}/dispute`, { received_output_hash }),
    onSuccess: () => cache.invalidateQueries(),
  });
  const context = useWalletContext();
  const { connected } = useWallet();
  const { state, busy, run } = useAction();
  const byWallet = async (received: string) => {
    if (await run((onProgress) => openDispute(context(onProgress), job.id, received))) await cache.invalidateQueries();
  };
  const opened = dispute.data?.dispute_opened === true || state.step === "done";
  const untouched = dispute.data === undefined && state.step === "idle";
  if (job.status === "disputed" && untouched) {
    return (
      <Notice tone="warn" title="This job is disputed">
        <p>The panel rules within 24 hours of the dispute; without a ruling you get the protocol fee back.</p>
      </Notice>
    );
  }
  if (!DISPUTABLE.has(job.status) && untouched) return null;
  if (!open) {
    return (
      <div className="row">
        <p className="hint">
          Received another text than the worker signed? You can dispute the charge for 60 seconds after the last token.
        </p>
        <Button onClick={() => setOpen(true)}>Dispute…</Button>
      </div>
    );
  }
  return (
    <Card title="Dispute the charge">
      <AnswerInput label="The whole answer as you received it" onHash={setHash} />
      {hash === null ? null : (
        <p className="row-start">
          Its hash: <Hash value={hash} what="hash of the text" />
          {hash === job.on_chain.proof_hash
            ? " equals the proof: there is nothing to dispute."
            : " differs from the proof."}
        </p>
      )}
      <div className="actions">
        <Button
          kind="danger"
          busy={dispute.isPending}
          disabled={hash === null || opened || busy}
          onClick={() => dispute.mutate(hash as string)}
        >
          Open the dispute
        </Button>
        <Button
          busy={busy}
          disabled={hash === null || opened || dispute.isPending || !connected}
          onClick={() => void byWallet(hash as string)}
        >
          Dispute with my wallet
        </Button>
        <Button onClick={() => setOpen(false)}>Not now</Button>
      </div>
      <p className="hint">
        The service opens it for you at no cost. Your wallet can do the same without the service: it puts up {BOND}{" "}
        credits, which come back unless the dispute is rejected.
      </p>
      <ActionStatus state={state} done="The dispute is open" />
      {dispute.data ? <Outcome result={dispute.data} /> : null}
      {dispute.error ? <Failure told={disputeFailure(dispute.error)} /> : null}
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
  return tell(error);
}
