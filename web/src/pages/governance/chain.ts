/**
 * Reads the state of governance from the visitor's node alone, in bounded ranges of blocks: past and open decisions, and what the treasury
 * holds.
 */
import {
  type Abi,
  type AbiEvent,
  type Address,
  type Client,
  erc20Abi,
  type Hex,
  keccak256,
  type Log,
  numberToHex,
  parseEventLogs,
  toBytes,
  toEventSelector,
} from "viem";
import { getBlock } from "viem/actions";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  protocolGovernorAbi,
  protocolTimelockAbi,
  protocolTreasuryAbi,
  serviceTokenAbi,
} from "../../../../protocol/generated/abi.ts";
import { PROPOSAL_STATES } from "../../../../protocol/proposal-states.ts";
import { readerOf } from "../../../../shared/contract-reader.ts";
import { LogReader } from "../../../../verify/chain.ts";
import { app } from "../../data/app.ts";
import { askNode } from "../../explorer/ask-node.ts";
import type { Moment, ProposalLife } from "./life.ts";

/** Most blocks asked for in one question, and questions of one look. */
const SPAN = 10_000n;
const LOOK = 20n;

/** One call of a decision; `value`: in the chain's currency. */
export type Action = { target: Address; value: bigint; data: Hex };

export type Proposal = ProposalLife & {
  id: bigint;
  proposer: Address;
  description: string;
  actions: readonly Action[];
};

/** A decision that waits in the timelock; `readyAt`: Unix seconds. */
export type Operation = { id: Hex; actions: readonly Action[]; readyAt: number; tx: Hex };

/** `receiver`: null for a compensation, which goes to the escrow for `jobId`. */
type Payment = { token: Address; units: bigint; receiver: Address | null; jobId: Hex | null; tx: Hex };

/** The newest block. */
type Head = { number: bigint; timestamp: bigint };

export type Governance = Awaited<ReturnType<typeof readGovernance>>;

const at = (name: string): Address => app.contracts[name] as Address;
export const governorOf = () => ({ address: at("ProtocolGovernor"), abi: protocolGovernorAbi }) as const;
export const serviceTokenOf = () => ({ address: at("ServiceToken"), abi: serviceTokenAbi }) as const;

const EVENTS: Abi = [...protocolGovernorAbi, ...protocolTimelockAbi, ...protocolTreasuryAbi];
const NAMES = [
  "ProposalCreated",
  "ProposalQueued",
  "ProposalExecuted",
  "ProposalCanceled",
  "CallScheduled",
  "TreasuryPaid",
  "CompensationPaid",
] as const;
const TOPICS = EVENTS.filter((item): item is AbiEvent => item.type === "event")
  .filter(({ name }) => (NAMES as readonly string[]).includes(name))
  .map((item) => toEventSelector(item));

/** All of it; `looks`: how many times further back than at first. */
export const readGovernance = (node: string, looks: number) =>
  askNode(node, async (client) => {
    const head = getBlock(client);
    const [decisions, rules, treasury] = await Promise.all([
      readDecisions(client, head, looks),
      readRules(client, head),
      readTreasury(client),
    ]);
    return { ...decisions, rules, treasury };
  });

/** The proposals, the waiting operations and the payments; `from`: the first block looked at, null for all of them. */
async function readDecisions(client: Client, newest: Promise<Head>, looks: number) {
  const head = await newest;
  const back = head.number - SPAN * LOOK * BigInt(looks);
  const start = BigInt(app.start_block);
  const from = back > start ? back : start;
  const times = new Map<bigint, number>();
  const found = await new LogReader(client, SPAN, (block, time) => times.set(block, time)).read(
    { address: [at("ProtocolGovernor"), at("ProtocolTimelock"), at("ProtocolTreasury")], topics: [TOPICS] },
    from,
    head.number,
  );
  const logs = found as unknown as Log<bigint, number, false>[];
  const now = Number(head.timestamp);
  const timeOf = async (blockNumber: bigint): Promise<number> =>
    times.get(blockNumber) ?? Number((await getBlock(client, { blockNumber })).timestamp);
  const [proposals, operations] = await Promise.all([
    readProposals(client, logs, now, timeOf),
    readOperations(client, logs),
  ]);
  return { now, from: from === start ? null : from, proposals, operations, payments: paymentsIn(logs) };
}

/** `timeOf`: of a block; some nodes say it with the logs, others are asked. */
async function readProposals(
  client: Client,
  logs: Log<bigint, number, false>[],
  now: number,
  timeOf: (block: bigint) => Promise<number>,
): Promise<Proposal[]> {
  const abi = protocolGovernorAbi;
  const created = parseEventLogs({ abi, logs, eventName: "ProposalCreated" });
  const later = parseEventLogs({ abi, logs, eventName: ["ProposalQueued", "ProposalExecuted", "ProposalCanceled"] });
  const momentOf = async ({
    blockNumber,
    transactionHash: tx,
  }: Pick<Log<bigint, number, false>, "blockNumber" | "transactionHash">) => ({
    at: await timeOf(blockNumber),
    tx,
  });
  const read = readerOf(client, governorOf());
  const proposals = created.map(async (log) => {
    const { args } = log;
    const { proposalId: id, proposer, description, targets, values, calldatas, voteStart, voteEnd } = args;
    const [snapshot, deadline] = [Number(voteStart), Number(voteEnd)];
    const when = async (name: (typeof later)[number]["eventName"]): Promise<Moment | null> => {
      const event = later.find(({ eventName, args }) => eventName === name && args.proposalId === id);
      return event === undefined ? null : await momentOf(event);
    };
    const [state, [against, inFavour, abstain], eta, quorum, made, queued, executed, canceled] = await Promise.all([
      read("state", [id]),
      read("proposalVotes", [id]),
      read("proposalEta", [id]),
      // It is fixed with the votes; before, the one of now stands for it.
      read("quorum", [BigInt(Math.min(snapshot, now - 1))]),
      momentOf(log),
      when("ProposalQueued"),
      when("ProposalExecuted"),
      when("ProposalCanceled"),
    ]);
    const actions = targets.map((target, i) => ({ target, value: values[i] ?? 0n, data: calldatas[i] ?? "0x" }));
    const votes = { against, inFavour, abstain, quorum };
    const times = { snapshot, deadline, eta: Number(eta) };
    const life = { made, queued, executed, canceled };
    return {
      id,
      proposer,
      description,
      actions,
      state: PROPOSAL_STATES[state] ?? "pending",
      ...times,
      ...votes,
      ...life,
    };
  });
  return (await Promise.all(proposals)).toReversed();
}

/** The operations that were scheduled by anyone and are neither executed nor cancelled; the first that can be executed comes first. */
async function readOperations(client: Client, logs: Log[]): Promise<Operation[]> {
  const scheduled = parseEventLogs({ abi: protocolTimelockAbi, logs, eventName: "CallScheduled" });
  const read = readerOf(client, { address: at("ProtocolTimelock"), abi: protocolTimelockAbi });
  const operations = [...Map.groupBy(scheduled, ({ args }) => args.id)].map(async ([id, calls]) => ({
    id,
    actions: calls.map(({ args: { target, value, data } }) => ({ target, value, data })),
    readyAt: Number(await read("getTimestamp", [id])),
    tx: calls[0]?.transactionHash as Hex,
  }));
  // 0: cancelled, 1: executed.
  return (await Promise.all(operations)).filter(({ readyAt }) => readyAt > 1).toSorted((a, b) => a.readyAt - b.readyAt);
}

/** The rules of a decision, and the settings that decisions have made. */
async function readRules(client: Client, newest: Promise<Head>) {
  const governor = readerOf(client, governorOf());
  const escrow = readerOf(client, { address: at("InferenceEscrow"), abi: inferenceEscrowAbi });
  const panel = readerOf(client, { address: at("ArbitrationPanel"), abi: arbitrationPanelAbi });
  const timelock = readerOf(client, { address: at("ProtocolTimelock"), abi: protocolTimelockAbi });
  const [head, delay, period, threshold, wait, fee, share, guardian, set, paused] = await Promise.all([
    newest,
    governor("votingDelay", []),
    governor("votingPeriod", []),
    governor("proposalThreshold", []),
    timelock("getMinDelay", []),
    escrow("feeBps", []),
    escrow("operatorShare", []),
    escrow("guardian", []),
    panel("currentSet", []),
    escrow("paused", []),
  ]);
  const [quorum, [arbiters, arbiterQuorum]] = await Promise.all([
    governor("quorum", [head.timestamp - 1n]),
    panel("arbitersOf", [set]),
  ]);
  const times = { delay: Number(delay), period: Number(period), wait: Number(wait) };
  return { ...times, threshold, quorum, fee, share, guardian, arbiters, arbiterQuorum, paused: paused.some(Boolean) };
}

async function readTreasury(client: Client) {
  const escrow = readerOf(client, { address: at("InferenceEscrow"), abi: inferenceEscrowAbi });
  const address = await escrow("treasury", []);
  const balance = (token: string) => readerOf(client, { address: at(token), abi: erc20Abi })("balanceOf", [address]);
  const [stablecoin, svc] = await Promise.all([balance("Stablecoin"), balance("ServiceToken")]);
  return { address, stablecoin, svc };
}

/** The treasury's payments, newest first. */
function paymentsIn(logs: Log[]): Payment[] {
  const paid = parseEventLogs({ abi: protocolTreasuryAbi, logs, eventName: ["TreasuryPaid", "CompensationPaid"] });
  return paid
    .map((log): Payment => {
      const { transactionHash: tx } = log;
      if (log.eventName === "TreasuryPaid") {
        const { token, units, receiver } = log.args;
        return { token, units, receiver, jobId: null, tx };
      }
      return { token: at("Stablecoin"), units: log.args.units, receiver: null, jobId: log.args.jobId, tx };
    })
    .toReversed();
}

/** The votes of a wallet, base units of SVC. */
export const readVoter = (node: string, wallet: Address) =>
  askNode(node, async (client) => {
    const read = readerOf(client, serviceTokenOf());
    const [balance, votes, delegate] = await Promise.all([
      read("balanceOf", [wallet]),
      read("getVotes", [wallet]),
      read("delegates", [wallet]),
    ]);
    return { balance, votes, delegate };
  });

/** The votes that a wallet has in a proposal, and whether it used them. */
export const readBallot = (node: string, { id, snapshot }: Proposal, wallet: Address) =>
  askNode(node, async (client) => {
    const read = readerOf(client, governorOf());
    const [votes, voted] = await Promise.all([
      read("getVotes", [wallet, BigInt(snapshot)]),
      read("hasVoted", [id, wallet]),
    ]);
    return { votes, voted };
  });

/** Tries a call that the timelock would make against the contracts' present state: null if they allow it, otherwise their error. */
export const tryAction = (node: string, { target, value, data }: Action): Promise<unknown | null> =>
  askNode(node, async (client) => {
    const call = { from: at("ProtocolTimelock"), to: target, value: numberToHex(value), data };
    return await client.request({ method: "eth_call", params: [call, "latest"] }).then(
      () => null,
      (error: unknown) => error,
    );
  });

/** The arguments of `queue` and `execute`: the proposal itself, which its id stands for. */
export function proposalArguments({ actions, description }: Pick<Proposal, "actions" | "description">) {
  const hash = keccak256(toBytes(description));
  return [
    actions.map(({ target }) => target),
    actions.map(({ value }) => value),
    actions.map(({ data }) => data),
    hash,
  ];
}
