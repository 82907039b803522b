import type { ReactNode } from "react";
import { Link } from "react-router";
import { toProofHash } from "../../../../protocol/answer-hash.ts";
import type { Job } from "../../../contract.ts";
import { Hash } from "../../ui/copy.tsx";
import { count, credits, usdg } from "../../ui/format.ts";
import { TxHash } from "../../wallet/action-status.tsx";
import type { SignedStatement } from "./chat.ts";

/** The facts that are known so far of a request's charge; times in ms since it was sent. */
export type Receipt = {
  /** Credits that are locked at most. */
  most: number;
  locked?: { ms: number; jobId: string; tx: string | null };
  signed?: { ms: number; statement: SignedStatement; isSame: boolean };
  tokens?: number;
  settled?: { ms: number; job: Job; remaining: number | null };
  /** The visitor ended the answer where it was. */
  stopped?: boolean;
  failure?: string;
};

type State = "idle" | "runs" | "done" | "bad";

/** The way of a charge in four steps, each with its evidence as soon as it is there; before a request it says what will happen. */
export function ReceiptSteps({ receipt }: { receipt: Receipt | null }) {
  const { locked, signed, tokens, settled, stopped = false, failure } = receipt ?? {};
  const state = (done: boolean, before: boolean): State =>
    done ? "done" : receipt === null || !before ? "idle" : failure === undefined ? "runs" : "bad";
  const isCharged = settled?.job.status === "settled";
  return (
    <ol className="receipt" aria-label="The charge, step by step">
      <Step title="Locked" state={state(locked !== undefined, true)} ms={locked?.ms}>
        {receipt === null ? (
          "The highest price of the answer is locked in the escrow contract, before a worker gets to work."
        ) : (
          <>
            {credits(receipt.most)} at most{locked?.tx ? <TxHash hash={locked.tx as `0x${string}`} /> : null}
          </>
        )}
      </Step>
      <Step
        title={stopped ? "Stopped by you" : "Answered and signed"}
        state={state(signed !== undefined, locked !== undefined && !stopped)}
        ms={signed?.ms}
      >
        {stopped ? (
          "The worker ends its answer where it is, and signs what it has: that much is charged."
        ) : signed === undefined ? (
          "A worker with a stake answers, and signs the SHA-256 of its text."
        ) : (
          <>
            {tokens === undefined ? "" : `${count(tokens)} tokens by `}
            <Hash
              value={signed.statement.worker_address}
              what="worker address"
              to={`/app/workers/${signed.statement.worker_address}`}
            />
          </>
        )}
      </Step>
      <Step
        title={signed?.isSame === false ? "Another text than the signed one" : "Checked in your browser"}
        state={signed?.isSame === false ? "bad" : state(!!signed?.isSame, signed !== undefined)}
      >
        {signed === undefined ? (
          "Your browser hashes what arrived and compares it with what the worker signed."
        ) : (
          <Hash value={toProofHash(signed.statement.completion.proofHash)} what="hash of the answer" />
        )}
      </Step>
      <Step
        title={settled === undefined || isCharged ? "Settled" : `Ended: ${settled.job.status}`}
        state={settled !== undefined && !isCharged ? "bad" : state(isCharged, signed !== undefined || stopped)}
        ms={settled?.ms}
      >
        {settled === undefined ? (
          "The contract verifies the signature, pays the exact price and returns the rest."
        ) : (
          <>
            <strong>{credits(settled.job.credits_charged)}</strong> ({usdg(settled.job.credits_charged)})
            {settled.job.on_chain.settlement_tx ? <TxHash hash={settled.job.on_chain.settlement_tx} /> : null}
          </>
        )}
      </Step>
      {settled?.remaining == null ? null : <li className="hint">{credits(settled.remaining)} are left on the key.</li>}
      {locked === undefined ? null : (
        <li>
          <Link className="button" to={`/app/jobs/${locked.jobId}`}>
            See the verdict on this job
          </Link>
        </li>
      )}
    </ol>
  );
}

function Step({
  title,
  state,
  ms,
  children,
}: {
  title: string;
  state: State;
  ms?: number | undefined;
  children: ReactNode;
}) {
  return (
    <li className={`step ${state}`}>
      <p className="step-title">
        {title}
        {ms === undefined ? null : <span className="hint">after {(ms / 1_000).toFixed(2)} s</span>}
      </p>
      <div className="step-text">{children}</div>
    </li>
  );
}
