import { useState } from "react";
import type { Address, Hex } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { app } from "../../data/app.ts";
import { readSvc } from "../../ui/amount.ts";
import { Button, Field, Form } from "../../ui/controls.tsx";
import { Secret } from "../../ui/copy.tsx";
import { short, svc, units } from "../../ui/format.ts";
import { Loaded } from "../../ui/loaded.tsx";
import { Card, Notice } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { ConnectNotice } from "../../wallet/connect.tsx";
import { addressFault } from "../../wallet/receiver-field.tsx";
import { register, type StakeTerms, useTerms } from "../../wallet/registry.ts";
import { useTransaction } from "../../wallet/use-transaction.ts";
import { useWallet } from "../../wallet/use-wallet.ts";
import { endpointFault, ModelChoices } from "./settings-cards.tsx";
import { hoursOf } from "./stake-card.tsx";

/** Registers a worker whose stake this wallet owns. */
export function RegisterCard() {
  const [open, setOpen] = useState(false);
  const { connected, wrongChain } = useWallet();
  const terms = useTerms();
  return (
    <Card title="Register a worker with this wallet">
      <p>
        <code>npx cmi-worker</code> registers by itself; the worker's machine then holds the stake's key. Registered
        here, the stake is your wallet's, and the machine has a key that can only sign answers.
      </p>
      {open ? null : (
        <div className="actions">
          <Button onClick={() => setOpen(true)}>Register…</Button>
        </div>
      )}
      {open && !connected ? <ConnectNotice /> : null}
      {open && connected && !wrongChain ? (
        <Loaded query={terms} rows={3} height={60}>
          {(data) => <RegisterForm terms={data} />}
        </Loaded>
      ) : null}
    </Card>
  );
}

type Made = { secret: Hex; account: PrivateKeyAccount };

function RegisterForm({ terms: { minimum, held, unbondingSeconds } }: { terms: StakeTerms }) {
  const { session } = useWallet();
  const { state, busy, send } = useTransaction();
  const [made, setMade] = useState<Made | null>(null);
  const [endpoint, setEndpoint] = useState("");
  const [payout, setPayout] = useState<string>(session?.wallet ?? "");
  const [models, setModels] = useState<readonly number[]>([]);
  const [text, setText] = useState(units(minimum * 2n, 6, 0).replaceAll(",", ""));
  const { value: stake, error } = readSvc(text, { most: held, mostSays: `Your wallet holds ${svc(held)}.` });
  const fault = endpointFault(endpoint.trim());
  const isReady =
    made !== null && fault === null && addressFault(payout) === null && models.length > 0 && stake !== null;

  const make = async () => {
    const { generatePrivateKey, privateKeyToAccount } = await import("viem/accounts");
    const secret = generatePrivateKey();
    setMade({ secret, account: privateKeyToAccount(secret) });
  };
  const submit = async () => {
    if (made === null || stake === null || !isReady) return;
    const { address, signTypedData } = made.account;
    const worker = { payout: payout.trim() as Address, endpoint: endpoint.trim(), models, stake };
    await send((sender) => register(sender, { address, sign: signTypedData }, worker));
  };
  return (
    <Form onSubmit={submit}>
      <ModelChoices chosen={models} onChange={setModels} disabled={busy} />
      <Field
        label="Gateways reach it at"
        name="endpoint"
        placeholder="https://gpu.example.com"
        value={endpoint}
        onChange={(event) => setEndpoint(event.target.value)}
        error={endpoint === "" ? null : fault}
        hint="The public address of the worker's machine."
      />
      <Field
        label="Paid to"
        name="payout"
        className="mono"
        value={payout}
        onChange={(event) => setPayout(event.target.value)}
        error={addressFault(payout)}
        hint="You can change it later."
      />
      <Field
        label="Stake"
        name="first-stake"
        inputMode="decimal"
        suffix="SVC"
        value={text}
        onChange={(event) => setText(event.target.value)}
        error={error}
        hint={`At least ${svc(minimum)} to take jobs; more covers more jobs at once. Free ${hoursOf(unbondingSeconds)} after unbonding.`}
      />
      {made === null ? (
        <Button onClick={() => void make()}>Make the worker's key</Button>
      ) : (
        <Notice tone="good" title={`Private key of the worker ${short(made.account.address)}`}>
          <p>
            Only this browser has it. Store it now; on the worker's machine it is <code>WORKER_PRIVATE_KEY</code>.
          </p>
          <Secret text={made.secret} what="private key" />
          <p>
            Then start <code>npx cmi-worker --service {app.origin}</code> there, with the same models.
          </p>
        </Notice>
      )}
      <Button type="submit" kind="primary" busy={busy} disabled={!isReady || state.step === "done"}>
        Register the worker
      </Button>
      <ActionStatus state={state} done="The worker is registered" />
    </Form>
  );
}
