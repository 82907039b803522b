import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Address, isAddress } from "viem";
import type { AccountInfo } from "../../data/types.ts";
import { readCredits } from "../../ui/amount.ts";
import { Button, Field } from "../../ui/controls.tsx";
import { count, usdg } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { withdraw } from "../../wallet/ledger.ts";
import { useWalletContext } from "../../wallet/use-token.ts";
import { useAction, useWallet } from "../../wallet/use-wallet.ts";

/** Pays free credits out as tokens, to the wallet itself or to any other address. */
export function WithdrawCard({ account }: { account: AccountInfo }) {
  const cache = useQueryClient();
  const context = useWalletContext();
  const { connected } = useWallet();
  const { state, busy, run } = useAction();
  const [text, setText] = useState("");
  const [receiver, setReceiver] = useState<string>(account.wallet);
  const { value, error } = readCredits(text, {
    least: 1,
    most: account.free,
    mostSays: `${count(account.free)} credits are free.`,
  });
  const wrongReceiver = isAddress(receiver.trim())
    ? null
    : "Not an address: 0x and 40 hex digits, with the right checksum.";

  const submit = async () => {
    if (value === null || wrongReceiver !== null) return;
    const worked = await run((onProgress) => withdraw(context(onProgress), value, receiver.trim() as Address));
    if (!worked) return;
    setText("");
    await cache.invalidateQueries();
  };
  return (
    <Card title="Withdraw">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Field
          label="Credits to withdraw"
          name="withdraw"
          inputMode="numeric"
          suffix="credits"
          value={text}
          onChange={(event) => setText(event.target.value)}
          error={error}
          hint={value === null ? `${count(account.free)} are free.` : `Pays ${usdg(value)} to the address below.`}
        />
        <Field
          label="To"
          name="receiver"
          className="mono"
          value={receiver}
          onChange={(event) => setReceiver(event.target.value)}
          error={wrongReceiver}
          hint={receiver === account.wallet ? "Your own wallet." : "Check it twice: this cannot be undone."}
        />
        <Button
          type="submit"
          kind="primary"
          busy={busy}
          disabled={value === null || wrongReceiver !== null || !connected}
        >
          Withdraw
        </Button>
      </form>
      <ActionStatus state={state} done="Withdrawn" />
    </Card>
  );
}
