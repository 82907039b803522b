import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import type { Address } from "viem";
import { app } from "../data/app.ts";
import { accountQuery, addressQuery } from "../data/queries.ts";
import type { AccountInfo } from "../data/types.ts";
import { History } from "../explorer/lists.tsx";
import { Button } from "../ui/controls.tsx";
import { count, units, usdg } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Figure, Page } from "../ui/page.tsx";
import { ActionStatus } from "../wallet/action-status.tsx";
import { ConnectNotice } from "../wallet/connect-notice.tsx";
import { mintTestTokens } from "../wallet/ledger.ts";
import { OperatorNotice } from "../wallet/operator-notice.tsx";
import { useTokenBalance, useWalletContext } from "../wallet/use-token.ts";
import { useAction, useWallet } from "../wallet/use-wallet.ts";
import { ClaimCard } from "./fund/claim-card.tsx";
import { DepositCard } from "./fund/deposit-card.tsx";
import { WithdrawCard } from "./fund/withdraw-card.tsx";

const TEST_CREDITS = 10_000;

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
          USDG
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

/** What came in and went out, as the explorer shows it to everybody. */
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

/** On a development chain the token has an open faucet. */
function TestTokens() {
  const cache = useQueryClient();
  const { state, busy, run } = useAction();
  const context = useWalletContext();
  const { connected } = useWallet();
  const mint = async () => {
    await run((onProgress) => mintTestTokens(context(onProgress), TEST_CREDITS));
    await cache.invalidateQueries({ queryKey: ["token"] });
  };
  return (
    <Card title="Test tokens">
      <div className="row">
        <p className="hint">
          This is a development chain: its USDG is free. Your wallet needs a little of the chain's currency for gas.
        </p>
        <Button onClick={() => void mint()} busy={busy} disabled={!connected}>
          Get {units(BigInt(TEST_CREDITS) * 10_000n, 6)} test USDG
        </Button>
      </div>
      <ActionStatus state={state} done="Test tokens are in your wallet" />
    </Card>
  );
}
