import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { AccountInfo } from "../../data/types.ts";
import { readCredits } from "../../ui/amount.ts";
import { Button, Field, Switch } from "../../ui/controls.tsx";
import { Card } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { setLimits } from "../../wallet/ledger.ts";
import { useWalletContext } from "../../wallet/use-token.ts";
import { useAction, useWallet } from "../../wallet/use-wallet.ts";

/** The largest limit the contract can keep. */
const MOST = 0xffffffff;

type Form = { limited: boolean; text: string; frozen: boolean };

const formOf = ({ daily_limit, frozen }: AccountInfo): Form => ({
  limited: daily_limit !== null,
  text: daily_limit === null ? "" : String(daily_limit),
  frozen,
});

/** The edits that are still to be saved once `saved` is: what was changed meanwhile stays. */
function unsaved(edits: Partial<Form>, saved: Form): Partial<Form> {
  const left = Object.entries(edits).filter(([name, value]) => value !== saved[name as keyof Form]);
  return Object.fromEntries(left);
}

/** How much of this wallet's credits its operator may lock. On chain, so that it binds even a stolen gateway key. */
export function LimitsCard({ account }: { account: AccountInfo }) {
  const cache = useQueryClient();
  const context = useWalletContext();
  const { connected } = useWallet();
  const { state, busy, run } = useAction();
  // What was not edited shows what is on the chain, however often that is read anew.
  const [edits, setEdits] = useState<Partial<Form>>({});
  const form: Form = { ...formOf(account), ...edits };
  const { limited, text, frozen } = form;
  const edit = (change: Partial<Form>) => setEdits((before) => ({ ...before, ...change }));
  const { value, error } = readCredits(text, { least: 0, most: MOST });
  const dailyLimit = limited ? value : null;
  const complete = !limited || value !== null;
  const changed = dailyLimit !== account.daily_limit || frozen !== account.frozen;

  const submit = async () => {
    const worked = await run((onProgress) => setLimits(context(onProgress), { dailyLimit, frozen }));
    if (!worked) return;
    await cache.invalidateQueries({ queryKey: ["own"] });
    setEdits((now) => unsaved(now, form));
  };
  return (
    <Card title="Spending limits" aside={<span className="hint">kept by the contract</span>}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
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
        {account.has_account ? null : (
          <p className="hint">Limits can be set once the wallet has made its first deposit.</p>
        )}
      </form>
      <ActionStatus state={state} done="Limits are in force" />
    </Card>
  );
}
