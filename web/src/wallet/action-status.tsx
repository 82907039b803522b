import type { Hex } from "viem";
import { app } from "../data/app.ts";
import { Hash } from "../ui/copy.tsx";
import { Failure, Notice } from "../ui/page.tsx";
import type { ActionState } from "./use-transaction.ts";

/** A transaction's hash, leading to the configured block explorer or to our own. */
export function TxHash({ hash, full = false }: { hash: Hex; full?: boolean }) {
  const { explorer_url } = app;
  const place =
    explorer_url === null ? { to: `/app/tx/${hash}` } : { href: `${explorer_url.replace(/\/$/, "")}/tx/${hash}` };
  return <Hash value={hash} what="transaction hash" full={full} {...place} />;
}

/** The progress of a wallet action, in a place that is always there, so that nothing jumps. */
export function ActionStatus({ state, done }: { state: ActionState; done: string }) {
  return (
    <div className="action-status" aria-live="polite">
      {state.step === "wallet" ? <Notice tone="info">{state.what}.</Notice> : null}
      {state.step === "mining" ? (
        <Notice tone="info" title="Sent, waiting to be mined">
          <TxHash hash={state.hash} />
        </Notice>
      ) : null}
      {state.step === "done" ? (
        <Notice tone="good" title={done}>
          <TxHash hash={state.hash} />
        </Notice>
      ) : null}
      {state.step === "failed" ? <Failure message={state.message} /> : null}
    </div>
  );
}
