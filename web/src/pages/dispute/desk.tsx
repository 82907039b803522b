import { useState } from "react";
import { type Address, type Hex, isAddressEqual } from "viem";
import { whyRead } from "../../../../protocol/delivery.ts";
import { arbitrationPanelAbi } from "../../../../protocol/generated/abi.ts";
import { fromApiJobId } from "../../../../protocol/job-id.ts";
import { RULINGS as NUMBERED } from "../../../../protocol/job-status.ts";
import { type AnyEvent, eventsOf, jobOfEvent } from "../../../../verify/events.ts";
import type { Dispute, Vote } from "../../../contract.ts";
import { app } from "../../data/app.ts";
import { disputeFacts } from "../../explorer/dispute-facts.ts";
import { useNow } from "../../ui/clock.ts";
import { Button, Form } from "../../ui/controls.tsx";
import { moment, short, units } from "../../ui/format.ts";
import { Card, Notice } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { ConnectNotice } from "../../wallet/connect.tsx";
import { collectDebt, expire } from "../../wallet/ledger.ts";
import { WithWallet } from "../../wallet/own-pages.tsx";
import type { ContractCall } from "../../wallet/send.ts";
import { useConnectedTransaction } from "../../wallet/use-transaction.ts";
import { useWallet } from "../../wallet/use-wallet.ts";
import { Join } from "../job/dispute-card.tsx";
import type { Evidence } from "./evidence.ts";
import { consequence, RULINGS, VOTES } from "./rulings.tsx";

type Known = { dispute: Dispute; evidence: Evidence; events: readonly AnyEvent[] };

/** The actions that the connected wallet can take in a dispute, and why it cannot take the others. */
export default function Desk(known: Known) {
  return (
    <WithWallet>
      <Roles {...known} />
    </WithWallet>
  );
}

function Roles({ dispute, evidence, events }: Known) {
  const now = useNow();
  const { connected, address } = useWallet();
  if (!connected || address === undefined) return <ConnectNotice />;
  const jobId = fromApiJobId(dispute.job_id) as Hex;
  const own = events.filter((event) => jobOfEvent(event) === jobId);
  const isArbiter = dispute.arbiters.some((one) => isAddressEqual(one, address));
  const isClient = isAddressEqual(dispute.wallet, address);
  const { open } = disputeFacts(own);
  const isOver = now >= Date.parse(dispute.rule_before);
  const owed = eventsOf(own, "escrow", "Compensated").at(-1)?.args.owed ?? 0n;
  return (
    <>
      {isArbiter ? (
        <Ballot dispute={dispute} evidence={evidence} address={address} now={now} />
      ) : dispute.ruling === null && !isOver ? (
        <NoArbiter dispute={dispute} address={address} />
      ) : null}
      {isClient && open !== null ? <Join dispute={open} /> : null}
      <Deed
        isDue={dispute.ruling === null && isOver}
        title="Nobody ruled in time"
        says={`Anybody can end the dispute now. ${consequence("expired", dispute)}`}
        label="End the dispute"
        done="The dispute has ended"
        call={expire(jobId)}
      />
      <Deed
        isDue={owed > 0n}
        title="The treasury still owes a part"
        says={`${units(owed, 6)} USDG are still to come. Anybody can have them paid once the treasury has them and its limit of the day allows it.`}
        label="Have it paid"
        done="What the treasury could pay is paid"
        call={collectDebt(jobId)}
      />
    </>
  );
}

const NoArbiter = ({ dispute, address }: { dispute: Dispute; address: Address }) => (
  <Notice tone="info" title="Your wallet cannot vote on this dispute">
    <p>
      {short(address)} is no arbiter of set {dispute.arbiter_set}, which was in office when the dispute was opened. Its
      arbiters are {dispute.arbiters.map((one) => short(one)).join(", ")}.
    </p>
  </Notice>
);

/** The evidence that an arbiter has to look at, and its vote. */
function Ballot({
  dispute,
  evidence,
  address,
  now,
}: Pick<Known, "dispute" | "evidence"> & { address: Address; now: number }) {
  const { state, busy, send } = useConnectedTransaction();
  const [chosen, setChosen] = useState<Vote | null>(null);
  const earlier = dispute.ballots.find(({ arbiter }) => isAddressEqual(arbiter, address))?.ruling ?? null;
  const closed = closedBecause(dispute, now);
  const rules = chosen !== null && chosen !== earlier && dispute.votes[chosen] + 1 === dispute.quorum;
  const vote = (ruling: Vote) => {
    const panel = { address: app.contracts["ArbitrationPanel"] as Address, abi: arbitrationPanelAbi };
    return send({ ...panel, functionName: "vote", args: [fromApiJobId(dispute.job_id), NUMBERED.indexOf(ruling)] });
  };
  return (
    <Card title="Your vote as an arbiter" aside={<span className="hint">{short(address)}</span>}>
      {dispute.ruling === null ? <Checklist dispute={dispute} evidence={evidence} /> : null}
      {closed === null ? (
        <Form onSubmit={() => chosen !== null && vote(chosen)}>
          <fieldset className="choices">
            <legend>Ruling</legend>
            {VOTES.map((one) => (
              <label key={one}>
                <input type="radio" name="ruling" checked={one === chosen} onChange={() => setChosen(one)} />
                <span>
                  <strong>{RULINGS[one]}</strong>
                  {one === earlier ? " (your vote)" : ""}
                  <br />
                  <span className="hint">{consequence(one, dispute)}</span>
                </span>
              </label>
            ))}
          </fieldset>
          <Button type="submit" kind="primary" busy={busy} disabled={chosen === null || chosen === earlier}>
            {earlier === null ? "Vote" : "Change my vote"}
          </Button>
          <p className="hint">
            {rules
              ? "With your vote this ruling has its quorum: the same transaction carries it out."
              : "Until a ruling has its quorum you can change your vote."}
          </p>
        </Form>
      ) : (
        <p>{closed}</p>
      )}
      <ActionStatus state={state} done="Your vote counts" />
    </Card>
  );
}

/** Why nobody can vote now; null where arbiters can. */
function closedBecause({ ruling, rule_from, rule_before }: Dispute, now: number): string | null {
  if (ruling !== null) return `The dispute has ended: ${RULINGS[ruling].toLowerCase()}.`;
  if (now >= Date.parse(rule_before)) return "The time to vote is over.";
  if (now >= Date.parse(rule_from)) return null;
  return `You can vote from ${moment(rule_from)}: until then the client can add its own hash.`;
}

function Checklist({ dispute, evidence }: Pick<Known, "dispute" | "evidence">) {
  const { delivery, convicted } = evidence;
  const reason = whyRead({
    byOperator: dispute.opened_by === "operator",
    joinedHash: dispute.joined_hash,
    convicted,
    // A statement of a key that was not the operator's then says nothing.
    delivery: delivery?.inOffice ? { ...delivery, jobId: fromApiJobId(dispute.job_id) as Hex } : null,
    workerHash: dispute.worker_hash,
    votes: dispute.ballots.map(({ ruling }) => NUMBERED.indexOf(ruling)),
  });
  return (
    <>
      <Notice
        tone={reason === null ? "good" : "warn"}
        title={reason === null ? "The gateway's statement refutes this dispute" : "Read this dispute yourself"}
      >
        <p>
          {reason === null
            ? "The operator signed that it sent all of the text that the worker proved. Who trusts this operator rejects."
            : `The reason: ${reason}.`}
        </p>
      </Notice>
      <ol className="checklist">
        <li>
          Ask client and operator for the text that each of them has. Paste each above: its hash says whose it is.
        </li>
        <li>The client's text has the worker's hash, or is no answer of this job: reject.</li>
        <li>The text that the gateway sent is not the one that the worker signed: the gateway is at fault.</li>
        <li>The worker signed a text that it did not deliver, or two texts: the worker is at fault.</li>
      </ol>
    </>
  );
}

type DeedText = { title: string; says: string; label: string; done: string };

/** A call that anybody may make while it is due. The visitor who made it still sees how it went. */
function Deed({ isDue, title, says, label, done, call }: DeedText & { isDue: boolean; call: ContractCall }) {
  const { state, busy, send } = useConnectedTransaction();
  if (!isDue && state.step === "idle") return null;
  return (
    <Card title={title}>
      <div className="row">
        <p>{says}</p>
        <Button kind="primary" busy={busy} disabled={!isDue} onClick={() => void send(call)}>
          {label}
        </Button>
      </div>
      <ActionStatus state={state} done={done} />
    </Card>
  );
}
