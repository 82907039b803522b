/**
 * Cards for the terms of spending that the contract keeps for a wallet: its operator, its limits, its authorization key and its dispute
 * key.
 */
import { type ReactNode, useState } from "react";
import { type Address, isAddress, isAddressEqual, zeroAddress } from "viem";
import type { AccountInfo } from "../../../contract.ts";
import { app } from "../../data/app.ts";
import { readCredits } from "../../ui/amount.ts";
import { Button, Field, Form, Switch } from "../../ui/controls.tsx";
import { Hash, Secret } from "../../ui/copy.tsx";
import { short } from "../../ui/format.ts";
import { Card, Notice } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { chooseOperator, setAuthorizationKey, setDisputeKey, setLimits } from "../../wallet/ledger.ts";
import { NO_ADDRESS } from "../../wallet/receiver-field.tsx";
import { useTransaction } from "../../wallet/use-transaction.ts";

/** The one operator that may lock this wallet's credits. The chain keeps it; the wallet changes it at any time. */
export function OperatorCard({ account }: { account: AccountInfo }) {
  const { state, busy, connected, send } = useTransaction();
  const { operator, has_account } = account;
  const choose = (wanted: number | null) => send(chooseOperator(wanted));
  return (
    <Card title="Operator" aside={<span className="hint">kept by the contract</span>}>
      <div className="row">
        <p>
          {operator === null ? "None is chosen." : `Operator ${operator}`}
          {operator === app.operator ? ", which runs this service." : null}
          <br />
          <span className="hint">
            {has_account
              ? "Only the operator you choose can lock your credits for jobs. Jobs that are running end under the one they began with."
              : "The wallet's first deposit chooses this service."}
          </span>
        </p>
        {has_account ? (
          <div className="actions">
            {operator === app.operator ? null : (
              <Button kind="primary" busy={busy} disabled={!connected} onClick={() => void choose(app.operator)}>
                Choose this service
              </Button>
            )}
            {operator === null ? null : (
              <Button kind="danger" busy={busy} disabled={!connected} onClick={() => void choose(null)}>
                Choose none
              </Button>
            )}
          </div>
        ) : null}
      </div>
      <ActionStatus state={state} done="Your choice is in force" />
    </Card>
  );
}

/** Why a form cannot be sent: the contract keeps nothing for a wallet that it does not know yet. */
const WaitsForDeposit = ({ account, what }: { account: AccountInfo; what: string }) =>
  account.has_account ? null : <p className="hint">{what} can be set once the wallet has made its first deposit.</p>;

/** The largest limit the contract can keep. */
const MOST_A_DAY = 0xffffffff;

type Limits = { limited: boolean; text: string; frozen: boolean };

const limitsOf = ({ daily_limit, frozen }: AccountInfo): Limits => ({
  limited: daily_limit !== null,
  text: daily_limit === null ? "" : String(daily_limit),
  frozen,
});

/** The edits that are still to be saved once `saved` is: what was changed meanwhile stays. */
function unsaved(edits: Partial<Limits>, saved: Limits): Partial<Limits> {
  const left = Object.entries(edits).filter(([name, value]) => value !== saved[name as keyof Limits]);
  return Object.fromEntries(left);
}

/** The limits to the credits of this wallet that its operator may lock. They are on chain, so that they bind even a stolen gateway key. */
export function LimitsCard({ account }: { account: AccountInfo }) {
  const { state, busy, connected, send } = useTransaction();
  // A field that was not edited shows the value on the chain, also when that changes.
  const [edits, setEdits] = useState<Partial<Limits>>({});
  const form: Limits = { ...limitsOf(account), ...edits };
  const { limited, text, frozen } = form;
  const edit = (change: Partial<Limits>) => setEdits((before) => ({ ...before, ...change }));
  const { value, error } = readCredits(text, { least: 0, most: MOST_A_DAY });
  const dailyLimit = limited ? value : null;
  const complete = !limited || value !== null;
  const changed = dailyLimit !== account.daily_limit || frozen !== account.frozen;

  const submit = async () => {
    if (await send(setLimits(dailyLimit, frozen))) setEdits((now) => unsaved(now, form));
  };
  return (
    <Card title="Spending limits" aside={<span className="hint">kept by the contract</span>}>
      <Form onSubmit={submit}>
        <Switch
          label="Daily limit"
          hint="Most credits that may be locked for jobs on one UTC day."
          checked={limited}
          onChange={(limited) => edit({ limited })}
        />
        {limited ? (
          <Field
            label="Credits a day"
            name="daily-limit"
            inputMode="numeric"
            suffix="credits"
            value={text}
            onChange={(event) => edit({ text: event.target.value })}
            error={error}
          />
        ) : null}
        <Switch
          label="Freeze spending"
          hint="New requests are refused at once, whoever holds your API key. Withdrawing works all the same."
          checked={frozen}
          onChange={(frozen) => edit({ frozen })}
        />
        <Button
          type="submit"
          kind="primary"
          busy={busy}
          disabled={!connected || !account.has_account || !complete || !changed}
        >
          Save on chain
        </Button>
        <WaitsForDeposit account={account} what="Limits" />
      </Form>
      <ActionStatus state={state} done="Limits are in force" />
    </Card>
  );
}

/** The address of a key, as typed; null while it is none. */
function keyIn(text: string): Address | null {
  const typed = text.trim();
  return isAddress(typed) && !isAddressEqual(typed, zeroAddress) ? typed : null;
}

type KeyFieldProps = { label: string; name: string; hint: ReactNode; text: string; onChange: (text: string) => void };

const KeyField = ({ text, onChange, ...field }: KeyFieldProps) => (
  <Field
    {...field}
    className="mono"
    value={text}
    onChange={(event) => onChange(event.target.value)}
    error={text.trim() === "" || keyIn(text) !== null ? null : NO_ADDRESS}
  />
);

/** The key without whose signature no job of this wallet is locked. */
export function AuthorizationCard({ account }: { account: AccountInfo }) {
  const { state, busy, connected, send } = useTransaction();
  const [text, setText] = useState("");
  const [done, setDone] = useState("");
  const [made, setMade] = useState<{ secret: string; address: Address } | null>(null);
  const key = keyIn(text);
  const current = account.authorization_key;
  const set = (wanted: Address | null) => {
    setDone(wanted === null ? "No key is needed any more" : "The key is in force");
    return send(setAuthorizationKey(wanted), () => setText(""));
  };
  const make = async () => {
    const { generatePrivateKey, privateKeyToAddress } = await import("viem/accounts");
    const secret = generatePrivateKey();
    setMade({ secret, address: privateKeyToAddress(secret) });
    setText(privateKeyToAddress(secret));
  };
  return (
    <Card title="Authorization key" aside={<span className="hint">kept by the contract</span>}>
      <p>
        With a key set, the contract locks your credits only for a job that this key has signed: its request, its model
        and the most it may cost. Even this service can then take nothing else, and it refuses requests that come
        without such a signature.
      </p>
      {current === null ? null : (
        <div className="row">
          <p>
            In force: <Hash value={current} what="authorization key" />
          </p>
          <Button kind="danger" busy={busy} disabled={!connected} onClick={() => void set(null)}>
            Remove the key
          </Button>
        </div>
      )}
      <Form onSubmit={() => key !== null && set(key)}>
        <KeyField
          label={current === null ? "Address of the key" : "Address of another key"}
          name="authorization-key"
          text={text}
          onChange={setText}
          hint="A key made for this alone: not the wallet's own, and not one that this service has."
        />
        {made === null ? null : (
          <Notice
            tone="good"
            title={`Private key of ${short(made.address)}`}
            actions={<Button onClick={() => setMade(null)}>I have stored it</Button>}
          >
            <p>
              Only this browser has it, and shows it this once. Your client signs with it (<code>authorizationKey</code>
              ).
            </p>
            <Secret text={made.secret} what="private key" />
          </Notice>
        )}
        <div className="actions">
          <Button
            type="submit"
            kind="primary"
            busy={busy}
            disabled={!connected || !account.has_account || key === null}
          >
            Set the key
          </Button>
          <Button onClick={() => void make()}>Make a key</Button>
        </div>
        <WaitsForDeposit account={account} what="A key" />
      </Form>
      <ActionStatus state={state} done={done} />
    </Card>
  );
}

/** Disputes that a dispute key may have open, unless the wallet says otherwise, and the most that the contract takes. */
const OPEN_DISPUTES = 8;
const MOST_OPEN_DISPUTES = 255;

/** The key that may dispute for this wallet, and nothing else. */
export function DisputeKeyCard({ account }: { account: AccountInfo }) {
  const { state, busy, connected, send } = useTransaction();
  const [text, setText] = useState("");
  const [most, setMost] = useState(String(OPEN_DISPUTES));
  const [done, setDone] = useState("");
  const key = keyIn(text);
  const number = /^\d{1,3}$/.test(most) ? Number(most) : Infinity;
  const current = account.dispute_key;
  const set = (wanted: Address | null) => {
    setDone(wanted === null ? "No key may dispute any more" : "The dispute key is named");
    return send(setDisputeKey(wanted, wanted === null ? 0 : number), () => setText(""));
  };
  return (
    <Card title="Dispute key" aside={<span className="hint">kept by the contract</span>}>
      <p>
        A dispute must be opened within 90 seconds, which several owners, or a person who is away, cannot do. A program
        with this key opens it for the wallet. Bonds come from your free credits alone: at most 100 credits for a
        dispute. The key can do nothing else.
      </p>
      {current === null ? null : (
        <div className="row">
          <p>
            Named: <Hash value={current.address} what="dispute key" />, with {current.open} of {current.most_open}{" "}
            disputes open
          </p>
          <Button kind="danger" busy={busy} disabled={!connected} onClick={() => void set(null)}>
            Revoke the dispute key
          </Button>
        </div>
      )}
      <Form onSubmit={() => key !== null && set(key)}>
        <KeyField
          label="Dispute key"
          name="dispute-key"
          text={text}
          onChange={setText}
          hint={
            <>
              The address that <code>cmi-client dispute-key</code> made. Naming a key again, also the same one, voids
              what was signed before.
            </>
          }
        />
        <Field
          label="Disputes open at a time"
          name="most-open"
          inputMode="numeric"
          value={most}
          onChange={(event) => setMost(event.target.value)}
          error={number <= MOST_OPEN_DISPUTES ? null : `A whole number, at most ${MOST_OPEN_DISPUTES}`}
        />
        <Button
          type="submit"
          kind="primary"
          busy={busy}
          disabled={!connected || !account.has_account || key === null || number > MOST_OPEN_DISPUTES}
        >
          Name the dispute key
        </Button>
        <WaitsForDeposit account={account} what="A dispute key" />
      </Form>
      <ActionStatus state={state} done={done} />
    </Card>
  );
}
