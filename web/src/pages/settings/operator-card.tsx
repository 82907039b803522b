import { useQueryClient } from "@tanstack/react-query";
import { app } from "../../data/app.ts";
import type { AccountInfo } from "../../data/types.ts";
import { Button } from "../../ui/controls.tsx";
import { Card } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { chooseOperator } from "../../wallet/ledger.ts";
import { useWalletContext } from "../../wallet/use-token.ts";
import { useAction, useWallet } from "../../wallet/use-wallet.ts";

/** The one operator that may lock this wallet's credits. The chain keeps it; the wallet changes it at any time. */
export function OperatorCard({ account }: { account: AccountInfo }) {
  const cache = useQueryClient();
  const context = useWalletContext();
  const { connected } = useWallet();
  const { state, busy, run } = useAction();
  const { operator, has_account } = account;
  const choose = async (wanted: number | null) => {
    if (await run((onProgress) => chooseOperator(context(onProgress), wanted))) {
      await cache.invalidateQueries({ queryKey: ["own"] });
    }
  };
  return (
    <Card title="Operator" aside={<span className="hint">kept by the contract</span>}>
      <div className="row">
        <p>
          {operator === null ? "None is chosen." : `Operator ${operator}`}
          {operator === app.operator ? ", which runs this service." : null}
          <br />
          <span className="hint">
            {has_account
              ? "Only the operator you choose can lock your credits for jobs. Jobs that are running end under the one they began with."
              : "The wallet's first deposit chooses this service."}
          </span>
        </p>
        {has_account ? (
          <div className="actions">
            {operator === app.operator ? null : (
              <Button kind="primary" busy={busy} disabled={!connected} onClick={() => void choose(app.operator)}>
                Choose this service
              </Button>
            )}
            {operator === null ? null : (
              <Button kind="danger" busy={busy} disabled={!connected} onClick={() => void choose(null)}>
                Choose none
              </Button>
            )}
          </div>
        ) : null}
      </div>
      <ActionStatus state={state} done="Your choice is in force" />
    </Card>
  );
}
