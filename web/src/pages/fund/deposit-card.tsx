import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { app } from "../../data/app.ts";
import type { AccountInfo } from "../../data/types.ts";
import { readCredits } from "../../ui/amount.ts";
import { Button, Field } from "../../ui/controls.tsx";
import { count, usdg } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { deposit } from "../../wallet/ledger.ts";
import { useWalletContext } from "../../wallet/use-token.ts";
import { useAction, useWallet } from "../../wallet/use-wallet.ts";

/** What fits the ledger's 40-bit balance. */
const MOST = 1_000_000_000;

/** Buys credits with a permit and one transaction. `balance`: token units in the wallet, where known. */
export function DepositCard({ account, balance }: { account: AccountInfo; balance: bigint | undefined }) {
  const cache = useQueryClient();
  const context = useWalletContext();
  const { connected } = useWallet();
  const { state, busy, run } = useAction();
  const [text, setText] = useState(String(app.minimum_deposit));
  const affordable = balance === undefined ? undefined : Number(balance / 10_000n);
  const { value, error } = readCredits(text, { least: app.minimum_deposit, most: MOST });
  const tooMuch = value !== null && affordable !== undefined && value > affordable;

  const switches = account.has_account && account.operator !== app.operator;
  const costs = (credits: number) => `Costs ${usdg(credits)}: one signature, then one transaction.`;

  const submit = async () => {
    if (value === null) return;
    const worked = await run((onProgress) => deposit(context(onProgress), value));
    if (worked) await cache.invalidateQueries();
  };
  return (
    <Card title="Deposit">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
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
        <Button type="submit" kind="primary" busy={busy} disabled={value === null || tooMuch || !connected}>
          Deposit
        </Button>
      </form>
      <ActionStatus state={state} done="Credits added" />
    </Card>
  );
}
