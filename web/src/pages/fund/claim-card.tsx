import { useState } from "react";
import type { Address } from "viem";
import type { AccountInfo } from "../../../contract.ts";
import { Button, Form } from "../../ui/controls.tsx";
import { units } from "../../ui/format.ts";
import { Card } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { claimTo } from "../../wallet/ledger.ts";
import { addressFault, ReceiverField } from "../../wallet/receiver-field.tsx";
import { useTransaction } from "../../wallet/use-transaction.ts";

/** Tokens that wait for this wallet: payouts that the token refused, and fractions of a credit. Nothing is shown when none do. */
export function ClaimCard({ account }: { account: Pick<AccountInfo, "wallet" | "claimable_units"> }) {
  const { state, busy, connected, send } = useTransaction();
  const [receiver, setReceiver] = useState<string>(account.wallet);
  const waiting = BigInt(account.claimable_units);
  const cannot = !connected || addressFault(receiver) !== null || waiting === 0n;
  if (waiting === 0n && state.step === "idle") return null;
  return (
    <Card title="Waiting for you">
      <Form onSubmit={() => send(claimTo(receiver.trim() as Address))}>
        <p>
          {units(waiting, 6)} USDG wait for this wallet: compensation below one credit, or a payout that the token
          refused.
        </p>
        <ReceiverField
          label="Pay them to"
          name="claim-receiver"
          value={receiver}
          own={account.wallet}
          onChange={setReceiver}
        />
        <Button type="submit" kind="primary" busy={busy} disabled={cannot}>
          Claim
        </Button>
      </Form>
      <ActionStatus state={state} done="Paid out" />
    </Card>
  );
}
