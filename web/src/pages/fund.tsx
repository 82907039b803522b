import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import type { Address } from "viem";
import { proposedDailyLimit } from "../../../protocol/money.ts";
import type { AccountInfo } from "../../contract.ts";
import { app } from "../data/app.ts";
import { accountQuery, addressQuery } from "../data/queries.ts";
import { History } from "../explorer/lists.tsx";
import { readCredits } from "../ui/amount.ts";
import { Button, Field, Form, Switch } from "../ui/controls.tsx";
import { count, credits, units, usdg } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Figure, Page } from "../ui/page.tsx";
import { ActionStatus } from "../wallet/action-status.tsx";
import { ConnectNotice } from "../wallet/connect.tsx";
import { deposit, mintTestTokens, setLimits, useTokenBalance, withdraw } from "../wallet/ledger.ts";
import { OperatorNotice } from "../wallet/operator-notice.tsx";
import { addressFault, ReceiverField } from "../wallet/receiver-field.tsx";
import { useTransaction } from "../wallet/use-transaction.ts";
import { useWallet } from "../wallet/use-wallet.ts";
import { ClaimCard } from "./fund/claim-card.tsx";

const TEST_CREDITS = 10_000;
/** The largest deposit: what fits the ledger's 40-bit balance. */
const MOST = 1_000_000_000;

/** Buying credits and taking them out: the wallet's own transactions. */
export function Fund() {
  const account = useQuery(accountQuery);
  const { connected } = useWallet();
  return (
    <Page
      title="Fund"
      about="Credits are held by the escrow contract. Only your wallet can take them out; your API key can only spend them."
    >
      {connected ? null : <ConnectNotice />}
      <Loaded query={account} rows={3} height={120}>
        {(data) => <Cards account={data} />}
      </Loaded>
    </Page>
  );
}

function Cards({ account }: { account: AccountInfo }) {
  const balance = useTokenBalance();
  return (
    <>
      <dl className="figures">
        <Figure label="Free credits" value={count(account.free)} main>
          worth {usdg(account.free)}, spendable and withdrawable
        </Figure>
        <Figure label="In your wallet" value={balance.data === undefined ? "–" : units(balance.data, 6)}>
          USDG, a stablecoin meant to be worth one US dollar
        </Figure>
      </dl>
      <OperatorNotice account={account} />
      {app.development ? <TestTokens /> : null}
      <div className="columns">
        <DepositCard account={account} balance={balance.data} />
        <WithdrawCard account={account} />
      </div>
      <ClaimCard account={account} />
      <Moves wallet={account.wallet} />
    </>
  );
}

/** On a development chain the token has an open faucet. */
function TestTokens() {
  const { state, busy, connected, send } = useTransaction();
  return (
    <Card title="Test tokens">
      <div className="row">
        <p className="hint">
          This is a development chain: its USDG is free, and a wallet without gas gets some with it.
        </p>
        <Button
          onClick={() => void send((sender) => mintTestTokens(sender, TEST_CREDITS))}
          busy={busy}
          disabled={!connected}
        >
          Get {units(BigInt(TEST_CREDITS) * 10_000n, 6)} test USDG
        </Button>
      </div>
      <ActionStatus state={state} done="Test tokens are in your wallet" />
    </Card>
  );
}

/** Buys credits with a permit and one transaction. `balance`: token units in the wallet, where known. */
function DepositCard({ account, balance }: { account: AccountInfo; balance: bigint | undefined }) {
  const { state, busy, connected, send } = useTransaction();
  const [text, setText] = useState(String(app.minimum_deposit));
  const affordable = balance === undefined ? undefined : Number(balance / 10_000n);
  const { value, error } = readCredits(text, { least: app.minimum_deposit, most: MOST });
  const tooMuch = value !== null && affordable !== undefined && value > affordable;
  const switches = account.has_account && account.operator !== app.operator;
  // A wallet that has a limit keeps it.
  const proposed = account.daily_limit === null ? proposedDailyLimit(account.free + (value ?? 0)) : null;
  const [limited, setLimited] = useState(true);
  const limits = proposed !== null && limited ? setLimits(proposed, account.frozen) : null;
  const transactions = limits === null ? "one transaction" : "two transactions";
  const costs = (credits: number) => `Costs ${usdg(credits)}: one signature, then ${transactions}.`;
  return (
    <Card title="Deposit">
      <Form onSubmit={() => value !== null && send((sender) => deposit(sender, value, limits))}>
        <Field
          label="Credits to buy"
          name="deposit"
          inputMode="numeric"
          suffix="credits"
          value={text}
          onChange={(event) => setText(event.target.value)}
          error={error ?? (tooMuch && affordable > 0 ? `The wallet's USDG is enough for ${count(affordable)}.` : null)}
          hint={
            value === null
              ? `At least ${app.minimum_deposit}.`
              : affordable === 0
                ? "Your wallet holds no USDG yet."
                : `${costs(value)}${switches ? " It also chooses this service." : ""}`
          }
        />
        {proposed === null ? null : (
          <Switch
            label={`Spend at most ${credits(proposed)} a day`}
            hint="Kept by the contract. It bounds what this service can take if its keys are stolen; you can change it in the settings."
            checked={limited}
            onChange={setLimited}
          />
        )}
        <Button type="submit" kind="primary" busy={busy} disabled={value === null || tooMuch || !connected}>
          Deposit
        </Button>
      </Form>
      <ActionStatus state={state} done="Credits added" />
    </Card>
  );
}

/** Pays free credits out as tokens, to the wallet itself or to any other address. */
function WithdrawCard({ account }: { account: AccountInfo }) {
  const { state, busy, connected, send } = useTransaction();
  const [text, setText] = useState("");
  const [receiver, setReceiver] = useState<string>(account.wallet);
  const free = count(account.free);
  const { value, error } = readCredits(text, { least: 1, most: account.free, mostSays: `${free} credits are free.` });
  const cannot = value === null || addressFault(receiver) !== null || !connected;
  const submit = () => value !== null && send(withdraw(value, receiver.trim() as Address), () => setText(""));
  return (
    <Card title="Withdraw">
      <Form onSubmit={submit}>
        <Field
          label="Credits to withdraw"
          name="withdraw"
          inputMode="numeric"
          suffix="credits"
          value={text}
          onChange={(event) => setText(event.target.value)}
          error={error}
          hint={value === null ? `${free} are free.` : `Pays ${usdg(value)} to the address below.`}
        />
        <ReceiverField label="To" name="receiver" value={receiver} own={account.wallet} onChange={setReceiver} />
        <Button type="submit" kind="primary" busy={busy} disabled={cannot}>
          Withdraw
        </Button>
      </Form>
      <ActionStatus state={state} done="Withdrawn" />
    </Card>
  );
}

/** The wallet's deposits and withdrawals, as the explorer shows them to everybody. */
function Moves({ wallet }: { wallet: Address }) {
  const found = useQuery(addressQuery(wallet.toLowerCase(), ""));
  return (
    <Card
      title="Deposits and withdrawals"
      aside={<Link to={`/app/address/${wallet}`}>All that the chain shows of your wallet</Link>}
    >
      <Loaded query={found} rows={2} height={32}>
        {({ history }) => <History events={history.filter(({ kind }) => /deposited|withdrawn|claimed/.test(kind))} />}
      </Loaded>
    </Card>
  );
}
