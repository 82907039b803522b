import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { type Address, isAddress, isAddressEqual, zeroAddress } from "viem";
import { Button, Field, Form } from "../../ui/controls.tsx";
import { short } from "../../ui/format.ts";
import { Loaded } from "../../ui/loaded.tsx";
import { Card, Fact } from "../../ui/page.tsx";
import { ActionStatus } from "../../wallet/action-status.tsx";
import { ConnectNotice } from "../../wallet/connect.tsx";
import { WithWallet } from "../../wallet/own-pages.tsx";
import { addressFault } from "../../wallet/receiver-field.tsx";
import { useConnectedTransaction } from "../../wallet/use-transaction.ts";
import { useWallet } from "../../wallet/use-wallet.ts";
import { svcOf } from "./actions.tsx";
import {
  type Governance,
  governorOf,
  type Proposal,
  proposalArguments,
  readBallot,
  readVoter,
  serviceTokenOf,
} from "./chain.ts";
import { NewProposal } from "./new-proposal.tsx";
import { Sections } from "./sections.tsx";

type DeskProps = { governance: Governance; node: string; older: () => void };

/** Governance with a wallet: the same page, and what its owner can do. */
export default function Desk(props: DeskProps) {
  return (
    <WithWallet>
      <Holder {...props} />
    </WithWallet>
  );
}

function Holder({ governance, node, older }: DeskProps) {
  const { connected, address } = useWallet();
  if (!connected || address === undefined) {
    return (
      <>
        <ConnectNotice />
        <Sections governance={governance} older={older} />
      </>
    );
  }
  const deeds = (proposal: Proposal): ReactNode => (
    <Deeds proposal={proposal} node={node} address={address} now={governance.now} />
  );
  return (
    <>
      <Votes node={node} address={address} />
      <Sections governance={governance} older={older} deeds={deeds} />
      <NewProposal node={node} rules={governance.rules} address={address} />
    </>
  );
}

/** The wallet's votes. SVC count only once they are delegated, to oneself or to another. */
function Votes({ node, address }: { node: string; address: Address }) {
  const voter = useQuery({
    queryKey: ["voter", node, address],
    queryFn: () => readVoter(node, address),
    refetchInterval: 30_000,
  });
  const { state, busy, send } = useConnectedTransaction();
  const [typed, setTyped] = useState<string>(address);
  const to = typed.trim();
  const valid = isAddress(to);
  const isSelf = valid && isAddressEqual(to, address);
  return (
    <Card title="Your votes" aside={<span className="hint">{short(address)}</span>}>
      <Loaded query={voter} rows={2} height={30}>
        {({ balance, votes, delegate }) => (
          <>
            <dl className="facts">
              <Fact label="Your SVC">{svcOf(balance)}</Fact>
              <Fact label="You vote with">{svcOf(votes)}</Fact>
              <Fact label="Your SVC vote through">
                {delegate === zeroAddress
                  ? "nobody: they do not count yet"
                  : isAddressEqual(delegate, address)
                    ? "yourself"
                    : short(delegate)}
              </Fact>
            </dl>
            <Form onSubmit={() => send({ ...serviceTokenOf(), functionName: "delegate", args: [to] })}>
              <Field
                label="Who votes with your SVC"
                className="mono"
                value={typed}
                onChange={(event) => setTyped(event.target.value)}
                error={addressFault(typed)}
                hint={
                  isSelf
                    ? "You yourself. Votes count in proposals whose vote begins later."
                    : "Another one. Your SVC stay yours."
                }
              />
              <Button type="submit" busy={busy} disabled={!valid || (valid && isAddressEqual(delegate, to))}>
                Delegate
              </Button>
            </Form>
          </>
        )}
      </Loaded>
      <ActionStatus state={state} done="Delegated" />
    </Card>
  );
}

/** `VoteType` of the governor. */
const SUPPORT = [
  { label: "For", value: 1 },
  { label: "Against", value: 0 },
  { label: "Abstain", value: 2 },
];

/** The actions that the wallet can take on a proposal now. */
function Deeds({ proposal, node, address, now }: { proposal: Proposal; node: string; address: Address; now: number }) {
  const { state: at, eta } = proposal;
  const { state, busy, send } = useConnectedTransaction();
  const [done, setDone] = useState("");
  const carry = (functionName: "queue" | "execute", says: string) => {
    setDone(says);
    void send({ ...governorOf(), functionName, args: proposalArguments(proposal) });
  };
  return (
    <>
      {at === "active" ? (
        <CastVote
          proposal={proposal}
          node={node}
          address={address}
          busy={busy}
          onVote={(support) => {
            setDone("Your vote counts");
            void send({ ...governorOf(), functionName: "castVote", args: [proposal.id, support] });
          }}
        />
      ) : null}
      {at === "succeeded" ? (
        <Button kind="primary" busy={busy} onClick={() => carry("queue", "It waits in the timelock")}>
          Queue
        </Button>
      ) : null}
      {at === "queued" ? (
        <Button
          kind="primary"
          busy={busy}
          disabled={Math.max(now, Date.now() / 1_000) < eta}
          onClick={() => carry("execute", "It was executed")}
        >
          Execute
        </Button>
      ) : null}
      <ActionStatus state={state} done={done} />
    </>
  );
}

type CastVoteProps = {
  proposal: Proposal;
  node: string;
  address: Address;
  busy: boolean;
  onVote: (support: number) => void;
};

function CastVote({ proposal, node, address, busy, onVote }: CastVoteProps) {
  const ballot = useQuery({
    queryKey: ["ballot", node, String(proposal.id), address],
    queryFn: () => readBallot(node, proposal, address),
  });
  return (
    <Loaded query={ballot} rows={1} height={38}>
      {({ votes, voted }) =>
        voted ? (
          <p>You have voted.</p>
        ) : votes === 0n ? (
          <p>
            Your wallet has no votes in this proposal: who votes was fixed when its vote began. Delegate before the next
            one.
          </p>
        ) : (
          <>
            <p className="hint">You vote with {svcOf(votes)}. A vote cannot be changed.</p>
            <div className="actions">
              {SUPPORT.map(({ label, value }) => (
                <Button key={label} kind={value === 1 ? "primary" : "plain"} busy={busy} onClick={() => onVote(value)}>
                  {label}
                </Button>
              ))}
            </div>
          </>
        )
      }
    </Loaded>
  );
}
