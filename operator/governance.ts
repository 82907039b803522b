/** What the protocol's people decide: the catalog, votes, the treasury and the pause. */
import { type Address, keccak256, toBytes } from "viem";
import { toApiJobId } from "../protocol/job-id.ts";
import { TIERS, tierName } from "../protocol/tiers.ts";
import { readEvents } from "../scripts/deploy/contracts.ts";
import { type Command, command } from "./command.ts";
import { PROPOSAL_STATES } from "./governor-errors.ts";
import { type Call, call, iso, type Operator, OperatorError, type Output } from "./operator.ts";

export const MODELS: readonly Command[] = [
  command("models list", "the catalog, with announced prices and ends", { show: listModels }),
  command(
    "models propose-add <id> --parameters P --owned-by O --tier T --per-request N --per-1k N --context-window N",
    "vote: lists a model",
    {
      propose: ({ catalog }, given) => {
        const { id, parameters } = given;
        const prices = { creditsPerRequest: given["per-request"], creditsPer1kTokens: given["per-1k"] };
        const tier = TIERS.indexOf(given.tier);
        const listed = { id, parameters, ownedBy: given["owned-by"], tier, ...prices };
        return call(catalog, "list", [{ ...listed, contextWindow: given["context-window"] }], `List model ${id}`);
      },
    },
  ),
  command("models propose-prices <id> --per-request N --per-1k N", "vote: announces prices", {
    propose: async (operator, { id, "per-request": request, "per-1k": tokens }) => {
      const { number } = await readModel(operator, id);
      const what = `Price of ${id}: ${request} a request, ${tokens} per 1,000 tokens`;
      return call(operator.catalog, "schedulePrices", [number, request, tokens], what);
    },
  }),
  command("models propose-retire <id> --at TIME", "vote: ends a model, with its notice", {
    propose: async (operator, { id, at }) => {
      const { number } = await readModel(operator, id);
      const { client, catalog, governor, timelock } = operator;
      // The notice counts from the execution, which is a vote and a timelock away.
      const waits = await Promise.all([
        catalog.read.retirementNotice(),
        governor.read.votingDelay(),
        governor.read.votingPeriod(),
        timelock.read.getMinDelay(),
        client.getBlock().then(({ timestamp }) => timestamp),
      ]);
      const earliest = waits.map(Number).reduce((a, b) => a + b, 0);
      if (at < earliest) {
        throw new OperatorError(
          `--at ${iso(at)} is too early: vote, timelock and notice take until ${iso(earliest)} at the soonest`,
        );
      }
      return call(catalog, "scheduleRetirement", [number, at], `Retire ${id} at ${iso(at)}`);
    },
  }),
];

export async function readModels({ catalog }: Operator) {
  const count = await catalog.read.modelCount();
  return await Promise.all(Array.from({ length: count }, (_, i) => catalog.read.modelAt([i + 1])));
}

async function readModel(operator: Operator, id: string) {
  const models = await readModels(operator);
  const found = models.find(({ listing }) => listing.id === id);
  if (found !== undefined) return found;
  throw new OperatorError(`the catalog has no ${id}; it has ${models.map(({ listing }) => listing.id).join(", ")}`);
}

async function listModels(operator: Operator): Promise<Output> {
  const json = (await readModels(operator)).map(({ listing, ...model }) => ({
    number: model.number,
    id: listing.id,
    tier: tierName(listing.tier),
    credits_per_request: listing.creditsPerRequest,
    credits_per_1k_tokens: listing.creditsPer1kTokens,
    context_window: listing.contextWindow,
    retires_at: model.retiresAt === 0 ? null : iso(model.retiresAt),
    next_prices:
      model.pricesChangeAt === 0
        ? null
        : {
            credits_per_request: model.nextCreditsPerRequest,
            credits_per_1k_tokens: model.nextCreditsPer1kTokens,
            from: iso(model.pricesChangeAt),
          },
  }));
  const text = json.map((one) => {
    const { next_prices: next, retires_at: end } = one;
    const announced = next ? ` → ${next.credits_per_request}/${next.credits_per_1k_tokens} from ${next.from}` : "";
    const prices = `${one.credits_per_request}/${one.credits_per_1k_tokens}${announced}`;
    return `${one.number}  ${one.id.padEnd(32)} ${one.tier.padEnd(9)} ${prices}${end ? ` ends ${end}` : ""}`;
  });
  return { text: text.join("\n"), json };
}

const SUPPORT = ["against", "for", "abstain"];

export const PROPOSALS: readonly Command[] = [
  command("proposals list", "governance proposals, their state and what comes next", {
    show: async (operator) => {
      const proposals = await readProposals(operator);
      const json = await Promise.all(proposals.map((proposal) => describeProposal(operator, proposal)));
      const text = json.map(
        (row) => `${row.state.padEnd(10)} ${row.id}  ${row.description}${row.next ? ` (${row.next})` : ""}`,
      );
      return { text: text.join("\n") || "no proposals", json };
    },
  }),
  command("proposals delegate", "makes one's own SVC count as votes", {
    send: ({ serviceToken, wallet }) => {
      const { address } = wallet.account;
      return call(serviceToken, "delegate", [address], `Vote with the SVC of ${address}`);
    },
  }),
  command("proposals vote <id> for|against|abstain", "votes", {
    send: async (operator, given) => {
      const { id, description } = await readProposal(operator, given.id);
      const { client, governor, wallet } = operator;
      const { address } = wallet.account;
      const snapshot = await governor.read.proposalSnapshot([id]);
      const isTaken = snapshot < (await client.getBlock()).timestamp;
      if (isTaken && (await governor.read.getVotes([address, snapshot])) === 0n) {
        throw new OperatorError(`${address} has no votes in this proposal: delegate before a proposal is made`);
      }
      return call(governor, "castVote", [id, SUPPORT.indexOf(given.choice)], `Vote ${given.choice}: ${description}`);
    },
  }),
  command("proposals queue <id>", "starts the timelock of what was decided", {
    send: (operator, { id }) => carryOut(operator, id, "queue"),
  }),
  command("proposals execute <id>", "carries it out; anyone can", {
    send: (operator, { id }) => carryOut(operator, id, "execute"),
  }),
];

async function readProposals({ client, governor, deployment }: Operator) {
  const made = await readEvents(client, governor, ["ProposalCreated"], BigInt(deployment.startBlock));
  return made.map(({ args }) => ({ ...args, id: args.proposalId }));
}
type Proposal = Awaited<ReturnType<typeof readProposals>>[number];

async function readProposal(operator: Operator, id: string): Promise<Proposal> {
  const found = (await readProposals(operator)).find((proposal) => String(proposal.id) === id);
  if (found === undefined) throw new OperatorError(`there is no proposal ${id}; see \`proposals list\``);
  return found;
}

async function describeProposal({ governor }: Operator, { id, description, targets }: Proposal) {
  const [number, snapshot, deadline, eta, votes] = await Promise.all([
    governor.read.state([id]),
    governor.read.proposalSnapshot([id]),
    governor.read.proposalDeadline([id]),
    governor.read.proposalEta([id]),
    governor.read.proposalVotes([id]),
  ]);
  const state = PROPOSAL_STATES[number] ?? String(number);
  const nextOf: Record<string, string> = {
    pending: `vote from ${iso(Number(snapshot))}`,
    active: `vote until ${iso(Number(deadline))}`,
    succeeded: "can be queued",
    queued: `can be executed from ${iso(Number(eta))}`,
  };
  const [against, inFavour, abstain] = votes.map(String);
  const next = nextOf[state] ?? null;
  return { id: String(id), state, description, targets, next, votes: { for: inFavour, against, abstain } };
}

/** Queues or executes: both take the proposal itself, which its id stands for. */
async function carryOut(operator: Operator, id: string, functionName: "queue" | "execute"): Promise<Call> {
  const { targets, values, calldatas, description } = await readProposal(operator, id);
  const args = [targets, values, calldatas, keccak256(toBytes(description))];
  return call(
    operator.governor,
    functionName,
    args,
    `${functionName === "queue" ? "Queue" : "Execute"}: ${description}`,
  );
}

const HIGHEST_CAP = 1_000_000;

export const TREASURY: readonly Command[] = [
  command("treasury show", "balances, fee and debts", { show: showTreasury }),
  command("treasury collect <job id>", "has a debt paid; anyone can", {
    send: ({ escrow }, { "job id": id }) =>
      call(escrow, "collectDebt", [id], `Have the treasury pay its debt for ${toApiJobId(id)}`),
  }),
  command("treasury propose-pay stablecoin|svc <receiver> <units>", "vote: pays out", {
    propose: ({ treasury, stablecoin, serviceToken }, { choice, receiver, units }) => {
      const { address } = choice === "svc" ? serviceToken : stablecoin;
      return call(treasury, "pay", [address, receiver, units], `Pay ${units} units of ${choice} to ${receiver}`);
    },
  }),
  command("treasury propose-fee <bps>", "vote: announces the protocol fee", {
    propose: ({ escrow }, { bps }) => call(escrow, "scheduleFee", [bps], `Protocol fee of ${bps / 100} %`),
  }),
  command("treasury propose-cap <credits>", "vote: what compensations may cost a day", {
    propose: ({ escrow }, { credits }) => {
      if (credits > HIGHEST_CAP)
        throw new OperatorError(`<credits> ${credits} must be a whole number from 0 to ${HIGHEST_CAP}`);
      return call(escrow, "setCompensationCap", [credits], `Compensations of at most ${credits} credits a day`);
    },
  }),
];

/** What the treasury holds, and what it owes for jobs. */
async function showTreasury(operator: Operator): Promise<Output> {
  const { escrow, stablecoin, serviceToken } = operator;
  const treasury: Address = await escrow.read.treasury();
  const [units, svc, fee, cap, debts] = await Promise.all([
    stablecoin.read.balanceOf([treasury]),
    serviceToken.read.balanceOf([treasury]),
    escrow.read.feeBps(),
    escrow.read.compensationCap(),
    readDebts(operator),
  ]);
  const owed = debts.reduce((sum, debt) => sum + BigInt(debt.units), 0n);
  const text = [
    `treasury ${treasury}`,
    `  ${units} units of the stablecoin (${Number(units) / 1e6}), ${svc} base units of SVC, fee ${fee / 100} %`,
    `  owes ${owed} units for ${debts.length} jobs; pays at most ${cap} credits a day, a quarter of it for one operator's jobs`,
    ...debts.map((debt) => `    ${debt.job_id}  ${debt.units} units to its ${debt.to}`),
  ];
  const held = { stablecoin_units: String(units), svc_units: String(svc) };
  return { text: text.join("\n"), json: { treasury, ...held, fee_bps: fee, compensation_cap: cap, debts } };
}

async function readDebts({ client, escrow, deployment }: Operator) {
  const paid = await readEvents(client, escrow, ["Compensated"], BigInt(deployment.startBlock));
  const debts = await Promise.all(
    [...new Set(paid.map(({ args }) => args.jobId))].map(async (jobId) => {
      const [granted, sent, toWorker] = await escrow.read.compensationOf([jobId]);
      return { job_id: toApiJobId(jobId), units: String(granted - sent), to: toWorker ? "worker" : "client" };
    }),
  );
  return debts.filter(({ units }) => units !== "0");
}

export const PROTOCOL: readonly Command[] = [
  command("protocol pause", "guardian: stops deposits and locks, never an exit", {
    send: ({ escrow }) => call(escrow, "setPaused", [true], "Pause deposits and locks"),
  }),
  command("protocol resume", "guardian: resumes them", {
    send: ({ escrow }) => call(escrow, "setPaused", [false], "Resume deposits and locks"),
  }),
  command("protocol propose-guardian <guardian>", "vote: names another guardian", {
    propose: ({ escrow }, { guardian }) => call(escrow, "setGuardian", [guardian], `Guardian ${guardian}`),
  }),
  command("protocol propose-arbiters --arbiters A,B,C --quorum N", "vote: names other arbiters", {
    propose: ({ panel }, { arbiters, quorum }) =>
      call(panel, "setArbiters", [arbiters, quorum], `Arbiters ${arbiters.join(", ")}, of whom ${quorum} rule`),
  }),
];
