import { decodeEventLog, getAbiItem, type Hex, keccak256, toBytes, toEventSelector } from "viem";
import { protocolGovernorAbi } from "../../protocol/generated/abi.ts";
import { positional, readChoice } from "./arguments.ts";
import type { Operator, Output } from "./context.ts";
import { OperatorError } from "./errors.ts";
import { type Call, encodeCall, simulate, submit } from "./transactions.ts";

const STATES = ["pending", "active", "canceled", "defeated", "succeeded", "queued", "expired", "executed"] as const;
const SUPPORT = ["against", "for", "abstain"] as const;
const CREATED = getAbiItem({ abi: protocolGovernorAbi, name: "ProposalCreated" });

type Proposal = {
  id: bigint;
  targets: readonly Hex[];
  values: readonly bigint[];
  calldatas: readonly Hex[];
  description: string;
};

/** Proposes a call by the timelock. What the timelock could not do is refused before anyone has to vote on it. */
export async function propose(operator: Operator, call: Call, description: string): Promise<Output> {
  const { ProtocolTimelock } = operator.deployment.contracts;
  const data = encodeCall(call);
  await simulate(operator, ProtocolTimelock, call.address, data, `${description} (executed today)`);
  const { governor } = operator.contracts;
  const args = [[call.address], [0n], [data], description] as const;
  const output = await submit(operator, { ...governor, functionName: "propose", args }, `Propose: ${description}`);
  const id = await operator.client.readContract({
    ...governor,
    functionName: "hashProposal",
    args: [[call.address], [0n], [data], keccak256(toBytes(description))],
  });
  return {
    text: `${output.text}\nProposal ${id}: ${call.functionName} of ${call.name}`,
    json: { ...(output.json as object), proposal_id: String(id), description },
  };
}

/** All proposals with their state, newest last. */
export async function listProposals(operator: Operator): Promise<Output> {
  const proposals = await readProposals(operator);
  const rows = await Promise.all(proposals.map((proposal) => describe(operator, proposal)));
  const text = rows.map(
    (row) => `${row.state.padEnd(10)} ${row.id}  ${row.description}${row.next ? ` (${row.next})` : ""}`,
  );
  return { text: text.join("\n") || "no proposals", json: rows };
}

export async function voteProposal(operator: Operator, args: readonly string[]): Promise<Output> {
  const { id, description } = await readProposal(operator, args);
  const support = readChoice(positional(args, 1, "for|against|abstain"), "<vote>", SUPPORT);
  const call = { ...operator.contracts.governor, functionName: "castVote", args: [id, SUPPORT.indexOf(support)] };
  const { governor } = operator.contracts;
  const from = operator.signer.account.address;
  const at = await operator.client.readContract({ ...governor, functionName: "proposalSnapshot", args: [id] });
  const now = Number((await operator.client.getBlock()).timestamp);
  if (Number(at) < now) {
    const votes = await operator.client.readContract({ ...governor, functionName: "getVotes", args: [from, at] });
    if (votes === 0n)
      throw new OperatorError(`${from} has no votes in this proposal: delegate before a proposal is made`);
  }
  return await submit(operator, call, `Vote ${support}: ${description}`);
}

/** Queues or executes: both take the proposal itself, which its id stands for. */
export async function carryOut(
  operator: Operator,
  args: readonly string[],
  functionName: "queue" | "execute",
): Promise<Output> {
  const { targets, values, calldatas, description } = await readProposal(operator, args);
  const hash = keccak256(toBytes(description));
  const call = { ...operator.contracts.governor, functionName, args: [targets, values, calldatas, hash] };
  return await submit(operator, call, `${functionName === "queue" ? "Queue" : "Execute"}: ${description}`);
}

/** SVC counts as votes only when delegated, to oneself too. */
export async function delegate(operator: Operator): Promise<Output> {
  const to = operator.signer.account.address;
  return await submit(
    operator,
    { ...operator.contracts.serviceToken, functionName: "delegate", args: [to] },
    `Vote with the SVC of ${to}`,
  );
}

async function describe(operator: Operator, { id, description, targets }: Proposal) {
  const { governor } = operator.contracts;
  const read = async (functionName: "proposalSnapshot" | "proposalDeadline" | "proposalEta") =>
    Number(await operator.client.readContract({ ...governor, functionName, args: [id] }));
  const [number, snapshot, deadline, eta, votes] = await Promise.all([
    operator.client.readContract({ ...governor, functionName: "state", args: [id] }),
    read("proposalSnapshot"),
    read("proposalDeadline"),
    read("proposalEta"),
    operator.client.readContract({ ...governor, functionName: "proposalVotes", args: [id] }),
  ]);
  const state = STATES[number] ?? String(number);
  const iso = (seconds: number) => new Date(seconds * 1000).toISOString();
  const next = {
    pending: `vote from ${iso(snapshot)}`,
    active: `vote until ${iso(deadline)}`,
    succeeded: "can be queued",
    queued: `can be executed from ${iso(eta)}`,
  }[state as string];
  const [against, inFavour, abstain] = votes.map(String);
  return {
    id: String(id),
    state,
    description,
    targets,
    next: next ?? null,
    votes: { for: inFavour, against, abstain },
  };
}

async function readProposal(operator: Operator, args: readonly string[]): Promise<Proposal> {
  const id = positional(args, 0, "proposal id");
  const found = (await readProposals(operator)).find((proposal) => String(proposal.id) === id);
  if (found === undefined) throw new OperatorError(`there is no proposal ${id}; see \`proposals list\``);
  return found;
}

async function readProposals(operator: Operator): Promise<Proposal[]> {
  const { governor } = operator.contracts;
  const head = await operator.client.getBlockNumber({ cacheTime: 0 });
  const filter = { address: governor.address, topics: [toEventSelector(CREATED)] };
  const logs = await operator.logs.read(filter, BigInt(operator.deployment.startBlock), head);
  return logs.map(({ topics, data }) => {
    const { args } = decodeEventLog({ abi: [CREATED], topics: topics as [Hex, ...Hex[]], data });
    const { proposalId: id, targets, values, calldatas, description } = args;
    return { id, targets, values, calldatas, description };
  });
}
