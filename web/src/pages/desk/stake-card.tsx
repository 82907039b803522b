import { useState } from "react";
import type { Address } from "viem";
import { readSvc } from "../../ui/amount.ts";
import { useNow } from "../../ui/clock.ts";
import { Button, Field, Form } from "../../ui/controls.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { countdown, momentOf, svc } from "../../ui/format.ts";
import { Card, Notice } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { addressFault, ReceiverField } from "../../wallet/receiver-field.tsx";
import { addStake, changeWorker, type Registered, type StakeTerms } from "../../wallet/registry.ts";
import { useTransaction } from "../../wallet/use-transaction.ts";
import { useWallet } from "../../wallet/use-wallet.ts";

type Parts = { worker: Registered; terms: StakeTerms };

/** Unbonding lasts days, on a development chain less. */
export const hoursOf = (seconds: number): string => `${Math.round(seconds / 360) / 10} hours`;

/** A worker's stake: more of it, and the way out. */
export function StakeCard({ worker, terms }: Parts) {
  const isUnbonding = worker.unbondsAt !== 0;
  const { minimum, next } = terms;
  return (
    <Card title="Stake" aside={<span className="hint">{svc(worker.stake)} in the registry</span>}>
      <p>
        A worker takes jobs with at least {svc(minimum)}. Fraud that is proven costs {svc(terms.slash)} of it.
      </p>
      {next === null ? null : (
        <Notice tone={worker.stake < next.minimum ? "warn" : "info"} title="Other terms were announced">
          <p>
            From {momentOf(next.changeAt)} the least stake is {svc(next.minimum)}, and a slash takes {svc(next.slash)}.
          </p>
        </Notice>
      )}
      {!isUnbonding && worker.stake < minimum ? (
        <Notice tone="warn" title="It takes no jobs">
          <p>It lacks {svc(minimum - worker.stake)} of stake.</p>
        </Notice>
      ) : null}
      {isUnbonding ? <Unbonding worker={worker} /> : <Bonded worker={worker} terms={terms} />}
    </Card>
  );
}

function Bonded({ worker, terms: { held, unbondingSeconds } }: Parts) {
  const { state, busy, send } = useTransaction();
  const [text, setText] = useState("");
  const [done, setDone] = useState("");
  const [asking, setAsking] = useState(false);
  const { value, error } = readSvc(text, { most: held, mostSays: `Your wallet holds ${svc(held)}.` });
  const add = async () => {
    if (value === null) return;
    setDone("Stake added");
    if (await send((sender) => addStake(sender, worker.signer, value))) setText("");
  };
  const unbond = async () => {
    setAsking(false);
    setDone("Unbonding has begun");
    await send(changeWorker(worker.signer, "startUnbonding"));
  };
  return (
    <>
      <Form onSubmit={add}>
        <Field
          label="Stake to add"
          name="stake"
          inputMode="decimal"
          suffix="SVC"
          value={text}
          readOnly={busy}
          onChange={(event) => setText(event.target.value)}
          error={error}
          hint={`Your wallet holds ${svc(held)}.`}
        />
        <div className="actions">
          <Button type="submit" kind="primary" busy={busy} disabled={value === null}>
            Add stake
          </Button>
          {worker.stake === 0n ? null : (
            <Button kind="danger" busy={busy} onClick={() => setAsking(true)}>
              Unbond…
            </Button>
          )}
        </div>
      </Form>
      <ActionStatus state={state} done={done} />
      {asking ? (
        <Dialog title={`Unbond ${svc(worker.stake)}?`} onClose={() => setAsking(false)}>
          <p>
            The worker gets no new job from now on. The whole stake is free after {hoursOf(unbondingSeconds)}. Until
            then it can be slashed, and you can take this back.
          </p>
          <div className="actions">
            <Button onClick={() => setAsking(false)}>Keep working</Button>
            <Button kind="danger" onClick={() => void unbond()}>
              Unbond
            </Button>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}

function Unbonding({ worker }: { worker: Registered }) {
  const { session } = useWallet();
  const { state, busy, send } = useTransaction();
  const now = useNow();
  const [receiver, setReceiver] = useState<string>(session?.wallet ?? "");
  const [done, setDone] = useState("");
  const left = worker.unbondsAt * 1_000 - now;
  const cancel = async () => {
    setDone("The worker takes jobs again");
    await send(changeWorker(worker.signer, "cancelUnbonding"));
  };
  const withdraw = async () => {
    setDone("Stake withdrawn");
    await send(changeWorker(worker.signer, "withdrawStake", receiver.trim() as Address));
  };
  return (
    <>
      <Notice
        tone={left > 0 ? "info" : "good"}
        title={left > 0 ? `Free in ${countdown(left)}` : "Your stake is free"}
        actions={
          <Button busy={busy} onClick={() => void cancel()}>
            Cancel unbonding
          </Button>
        }
      >
        <p>
          {left > 0
            ? `The worker takes no jobs. From ${momentOf(worker.unbondsAt)} you can withdraw.`
            : "The worker takes no jobs. Withdraw the stake, or have it work again."}
        </p>
      </Notice>
      <Form onSubmit={withdraw}>
        <ReceiverField
          label="Withdraw to"
          name="stake-receiver"
          value={receiver}
          own={session?.wallet ?? ""}
          onChange={setReceiver}
        />
        <Button type="submit" kind="primary" busy={busy} disabled={left > 0 || addressFault(receiver) !== null}>
          Withdraw {svc(worker.stake)}
        </Button>
      </Form>
      <ActionStatus state={state} done={done} />
    </>
  );
}
