import { useQuery } from "@tanstack/react-query";
import type { Hex } from "viem";
import { fromApiJobId } from "../../../../protocol/job-id.ts";
import type { ChainAddress, Owed, Worker } from "../../../contract.ts";
import { addressQuery } from "../../data/queries.ts";
import { Button } from "../../ui/controls.tsx";
import { units } from "../../ui/format.ts";
import { AddressLink, JobLink } from "../../ui/links.tsx";
import { Loaded } from "../../ui/loaded.tsx";
import { Card, Fact } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { claim, collectDebt } from "../../wallet/ledger.ts";
import { useTransaction } from "../../wallet/use-transaction.ts";
import { useWallet } from "../../wallet/use-wallet.ts";
import { ClaimCard } from "../fund/claim-card.tsx";

/** The address to which a worker's pay goes, and the part of the pay that has not arrived. */
export function PayCard({ worker }: { worker: Worker & { owed: Owed[] } }) {
  const payout = useQuery(addressQuery(worker.payout.toLowerCase(), ""));
  const { session } = useWallet();
  const isOwn = worker.payout === session?.wallet;
  return (
    <>
      <Card title="Pay">
        <p>Each job is paid in the transaction that settles it. Only what the token refused has to be claimed.</p>
        <Loaded query={payout} rows={2} height={40}>
          {(data) => (
            <>
              <Payout payout={data} />
              {isOwn || data.claimable_units === "0" ? null : <ClaimFor payout={data} />}
            </>
          )}
        </Loaded>
        {worker.owed.length === 0 ? null : <Debts owed={worker.owed} />}
      </Card>
      {isOwn && payout.data !== undefined ? (
        <ClaimCard account={{ wallet: worker.payout, claimable_units: payout.data.claimable_units }} />
      ) : null}
    </>
  );
}

const usdgOf = (text: string): string => `${units(BigInt(text), 6)} USDG`;

const Payout = ({ payout }: { payout: ChainAddress }) => (
  <dl className="facts">
    <Fact label="Paid to">
      <AddressLink address={payout.address} what="payout address" />
    </Fact>
    <Fact label="It holds">{usdgOf(payout.usdg_units)}</Fact>
    <Fact label="Waits to be claimed">{usdgOf(payout.claimable_units)}</Fact>
    <Fact label="Claimed so far">{usdgOf(payout.claimed_units)}</Fact>
  </dl>
);

/** Another address than the wallet is paid: anybody may have it paid what waits. */
function ClaimFor({ payout }: { payout: ChainAddress }) {
  const { state, busy, connected, send } = useTransaction();
  return (
    <>
      <div className="actions">
        <Button kind="primary" busy={busy} disabled={!connected} onClick={() => void send(claim(payout.address))}>
          Pay {usdgOf(payout.claimable_units)} to it
        </Button>
      </div>
      <ActionStatus state={state} done="Paid out" />
    </>
  );
}

function Debts({ owed }: { owed: readonly Owed[] }) {
  const { state, busy, connected, send } = useTransaction();
  return (
    <>
      <p>After a dispute the treasury owes this worker its pay. It pays a bounded sum a day.</p>
      <ul className="plain-list" aria-label="Debts of the treasury">
        {owed.map(({ job_id, units: due }) => (
          <li key={job_id} className="row">
            <span>
              {units(BigInt(due), 6)} USDG for <JobLink id={job_id} />
            </span>
            <Button
              busy={busy}
              disabled={!connected}
              onClick={() => void send(collectDebt(fromApiJobId(job_id) as Hex))}
            >
              Collect
            </Button>
          </li>
        ))}
      </ul>
      <ActionStatus state={state} done="Collected" />
    </>
  );
}
