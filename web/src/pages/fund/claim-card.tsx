import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Address, isAddress } from "viem";
import type { AccountInfo } from "../../data/types.ts";
import { Button, Field } from "../../ui/controls.tsx";
import { units } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { claimTo } from "../../wallet/ledger.ts";
import { useWalletContext } from "../../wallet/use-token.ts";
import { useAction, useWallet } from "../../wallet/use-wallet.ts";

/** Tokens that wait for this wallet: payouts that the token refused, and fractions of a credit. Nothing is shown when none do. */
export function ClaimCard({ account }: { account: Pick<AccountInfo, "wallet" | "claimable_units"> }) {
  const cache = useQueryClient();
  const context = useWalletContext();
  const { connected } = useWallet();
  const { state, busy, run } = useAction();
  const [receiver, setReceiver] = useState<string>(account.wallet);
  const waiting = BigInt(account.claimable_units);
  const valid = isAddress(receiver.trim());
  const submit = async () => {
    if (!valid) return;
    if (await run((onProgress) => claimTo(context(onProgress), receiver.trim() as Address))) {
      await cache.invalidateQueries();
    }
  };
  if (waiting === 0n && state.step === "idle") return null;
  return (
    <Card title="Waiting for you">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <p>
          {units(waiting, 6)} USDG wait for this wallet: compensation below one credit, or a payout that the token
          refused.
        </p>
        <Field
          label="Pay them to"
          name="claim-receiver"
          className="mono"
          value={receiver}
          onChange={(event) => setReceiver(event.target.value)}
          error={valid ? null : "Not an address: 0x and 40 hex digits, with the right checksum."}
          hint={receiver === account.wallet ? "Your own wallet." : "Check it twice: this cannot be undone."}
        />
        <Button type="submit" kind="primary" busy={busy} disabled={!connected || !valid || waiting === 0n}>
          Claim
        </Button>
      </form>
      <ActionStatus state={state} done="Paid out" />
    </Card>
  );
}
