import { useQueryClient } from "@tanstack/react-query";
import { app } from "../data/app.ts";
import type { AccountInfo } from "../data/types.ts";
import { Button } from "../ui/controls.tsx";
import { Notice } from "../ui/page.tsx";
import { ActionStatus } from "./action-status.tsx";
import { chooseOperator } from "./ledger.ts";
import { useWalletContext } from "./use-token.ts";
import { useAction, useWallet } from "./use-wallet.ts";

/** An account that has not chosen this service's operator, and the transaction that does. A first deposit chooses it anyway. */
export function OperatorNotice({ account }: { account: AccountInfo }) {
  const cache = useQueryClient();
  const context = useWalletContext();
  const { connected } = useWallet();
  const { state, busy, run } = useAction();
  const missing = account.has_account && account.operator !== app.operator;
  const choose = async () => {
    if (await run((onProgress) => chooseOperator(context(onProgress), app.operator))) {
      await cache.invalidateQueries({ queryKey: ["own"] });
    }
  };
  if (!missing && state.step === "idle") return null;
  const { operator } = account;
  return (
    <>
      {missing ? (
        <Notice
          tone="warn"
          title={operator === null ? "Your account has chosen no service" : "Your account has chosen another service"}
          actions={
            <Button kind="primary" busy={busy} disabled={!connected} onClick={() => void choose()}>
              Choose this service
            </Button>
          }
        >
          <p>
            Only the operator you choose can lock your credits
            {operator === null ? ". " : `: your account has chosen operator ${operator}. `}
            This service is operator {app.operator}, and refuses your requests until you choose it.
          </p>
        </Notice>
      ) : null}
      <ActionStatus state={state} done="This service is chosen" />
    </>
  );
}
