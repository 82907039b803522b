import type { AccountInfo } from "../../contract.ts";
import { app } from "../data/app.ts";
import { Button } from "../ui/controls.tsx";
import { Notice } from "../ui/page.tsx";
import { ActionStatus } from "./action-status.tsx";
import { chooseOperator } from "./ledger.ts";
import { useTransaction } from "./use-transaction.ts";

/** An account that has not chosen this service's operator, and the transaction that does. A first deposit chooses it anyway. */
export function OperatorNotice({ account }: { account: AccountInfo }) {
  const { state, busy, connected, send } = useTransaction();
  const missing = account.has_account && account.operator !== app.operator;
  if (!missing && state.step === "idle") return null;
  const { operator } = account;
  return (
    <>
      {missing ? (
        <Notice
          tone="warn"
          title={operator === null ? "Your account has chosen no service" : "Your account has chosen another service"}
          actions={
            <Button
              kind="primary"
              busy={busy}
              disabled={!connected}
              onClick={() => void send(chooseOperator(app.operator))}
            >
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
