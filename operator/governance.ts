/** Commands for the decisions of the protocol's people: the catalog, votes, the treasury and the pause. */
import { Argument, Option } from "@commander-js/extra-typings";
import { type Address, keccak256, toBytes } from "viem";
import { toApiJobId } from "../protocol/job-id.ts";
import { usdgText } from "../protocol/money.ts";
import { sharePercent } from "../protocol/pricing.ts";
import { PROPOSAL_STATES } from "../protocol/proposal-states.ts";
import { TIERS, tierName } from "../protocol/tiers.ts";
import { readEvents } from "../scripts/deploy/contracts.ts";
import { oneLine } from "../shared/one-line.ts";
import { address, type Group, jobId, list, share, time, units, whole } from "./command.ts";
import { type Call, call, iso, type Operator, OperatorError, type Output } from "./operator.ts";

/** Prices of a model, in credits. */
const price = whole(1, 65_535);

export const models: Group = (program, { show, propose }) => {
  const group = program.command("models").description("the catalog");
  group.command("list").description("the catalog, with announced prices and ends").action(show(listModels));
  group
    .command("propose-add")
    .description("vote: lists a model")
    .argument("<id>", "id of the model in the API")
    .requiredOption("--parameters <P>", "size of the model, e.g. 8B")
    .requiredOption("--owned-by <O>", "who made the model")
    .addOption(new Option("--tier <T>", "tier of the model").choices(TIERS).makeOptionMandatory())
    .requiredOption("--per-request <N>", "credits for a request", price)
    .requiredOption("--per-1k <N>", "credits for 1,000 tokens", price)
    .requiredOption("--context-window <N>", "tokens that prompt and answer may have", whole(1, 2 ** 32 - 1))
    .action(
      propose(({ catalog }, id, { tier, perRequest, per1k, ...options }) => {
        const prices = { creditsPerRequest: perRequest, creditsPer1kTokens: per1k };
        const listing = { id, ...options, tier: TIERS.indexOf(tier), ...prices };
        return call(catalog, "list", [listing], `List model ${id}`);
      }),
    );
  group
    .command("propose-prices")
    .description("vote: announces prices")
    .argument("<id>", "id of the model in the API")
    .requiredOption("--per-request <N>", "credits for a request", price)
    .requiredOption("--per-1k <N>", "credits for 1,000 tokens", price)
    .action(
      propose(async (operator, id, { perRequest, per1k }) => {
        const { number } = await readModel(operator, id);
        const what = `Price of ${id}: ${perRequest} a request, ${per1k} per 1,000 tokens`;
        return call(operator.catalog, "schedulePrices", [number, perRequest, per1k], what);
      }),
    );
  group
    .command("propose-retire")
    .description("vote: ends a model, with its notice")
    .argument("<id>", "id of the model in the API")
    .requiredOption("--at <TIME>", "when it ends, e.g. 2030-01-31T12:00:00Z", time)
    .action(propose((operator, id, { at }) => retirement(operator, id, at)));
};

async function retirement(operator: Operator, id: string, at: number): Promise<Call> {
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
}

export async function readModels({ catalog }: Operator) {
  const count = await catalog.read.modelCount();
  return await Promise.all(Array.from({ length: count }, (_, i) => catalog.read.modelAt([i + 1])));
}

async function readModel(operator: Operator, id: string) {
  const models = await readModels(operator);
  const found = models.find(({ listing }) => listing.id === id);
  if (found !== undefined) return found;
  throw new OperatorError(
    `the catalog has no ${id}; it has ${models.map(({ listing }) => oneLine(listing.id)).join(", ")}`,
  );
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
    return `${one.number}  ${oneLine(one.id).padEnd(32)} ${one.tier.padEnd(9)} ${prices}${end ? ` ends ${end}` : ""}`;
  });
  return { text: text.join("\n"), json };
}

const SUPPORT = ["against", "for", "abstain"] as const;

export const proposals: Group = (program, { show, send }) => {
  const group = program.command("proposals").description("governance proposals");
  group
    .command("list")
    .description("governance proposals, their state and what comes next")
    .action(
      show(async (operator) => {
        const made = await readProposals(operator);
        const json = await Promise.all(made.map((proposal) => describeProposal(operator, proposal)));
        const text = json.map(
          (row) => `${row.state.padEnd(10)} ${row.id}  ${oneLine(row.description)}${row.next ? ` (${row.next})` : ""}`,
        );
        return { text: text.join("\n") || "no proposals", json };
      }),
    );
  group
    .command("delegate")
    .description("makes one's own SVC count as votes")
    .action(
      send(({ serviceToken, wallet }) => {
        const { address } = wallet.account;
        return call(serviceToken, "delegate", [address], `Vote with the SVC of ${address}`);
      }),
    );
  group
    .command("vote")
    .description("votes")
    .argument("<id>", "id of the proposal")
    .addArgument(new Argument("<support>", "the vote").choices(SUPPORT))
    .action(send(vote));
  group
    .command("queue")
    .description("starts the timelock of what was decided")
    .argument("<id>", "id of the proposal")
    .action(send((operator, id) => carryOut(operator, id, "queue")));
  group
    .command("execute")
    .description("carries it out; anyone can")
    .argument("<id>", "id of the proposal")
    .action(send((operator, id) => carryOut(operator, id, "execute")));
};

async function vote(operator: Operator, proposalId: string, support: (typeof SUPPORT)[number]): Promise<Call> {
  const { id, description } = await readProposal(operator, proposalId);
  const { client, governor, wallet } = operator;
  const { address } = wallet.account;
  const snapshot = await governor.read.proposalSnapshot([id]);
  const isTaken = snapshot < (await client.getBlock()).timestamp;
  if (isTaken && (await governor.read.getVotes([address, snapshot])) === 0n) {
    throw new OperatorError(`${address} has no votes in this proposal: delegate before a proposal is made`);
  }
  return call(governor, "castVote", [id, SUPPORT.indexOf(support)], `Vote ${support}: ${oneLine(description)}`);
}

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
    `${functionName === "queue" ? "Queue" : "Execute"}: ${oneLine(description)}`,
  );
}

export const treasury: Group = (program, { show, send, propose }) => {
  const group = program.command("treasury").description("what the protocol holds and owes");
  group.command("show").description("balances, fee and debts").action(show(showTreasury));
  group
    .command("collect")
    .description("has a debt paid; anyone can")
    .argument("<job id>", "the job of the debt", jobId)
    .action(
      send(({ escrow }, id) =>
        call(escrow, "collectDebt", [id], `Have the treasury pay its debt for ${toApiJobId(id)}`),
      ),
    );
  group
    .command("propose-pay")
    .description("vote: pays out")
    .addArgument(new Argument("<token>", "what it pays").choices(["stablecoin", "svc"]))
    .argument("<receiver>", "address that gets it", address)
    .argument("<units>", "base units of the token", units)
    .action(
      propose((operator, token, receiver, amount) => {
        const paid = token === "svc" ? operator.serviceToken : operator.stablecoin;
        const what = `Pay ${amount} units of ${token} to ${receiver}`;
        return call(operator.treasury, "pay", [paid.address, receiver, amount], what);
      }),
    );
  group
    .command("propose-fee")
    .description("vote: announces the protocol fee")
    .argument("<bps>", "hundredths of a per cent of each charge", whole(0, 2_000))
    .option("--operator-share <PERCENT>", "of the fee, for operators (default: as in force)", share)
    .action(
      propose(async ({ escrow }, bps, { operatorShare }) => {
        const ofIt = operatorShare ?? (await escrow.read.operatorShare());
        const what = `Protocol fee of ${bps / 100} %, of which operators have ${sharePercent(ofIt)} %`;
        return call(escrow, "scheduleFee", [bps, ofIt], what);
      }),
    );
  group
    .command("propose-cap")
    .description("vote: what compensations may cost a day")
    .argument("<credits>", "most credits a day", whole(0, 1_000_000))
    .action(
      propose(({ escrow }, credits) =>
        call(escrow, "setCompensationCap", [credits], `Compensations of at most ${credits} credits a day`),
      ),
    );
};

/** Shows the treasury's holdings, and what it owes for jobs. */
async function showTreasury(operator: Operator): Promise<Output> {
  const { escrow, stablecoin, serviceToken } = operator;
  const treasury: Address = await escrow.read.treasury();
  const [units, svc, fee, ofIt, cap, debts] = await Promise.all([
    stablecoin.read.balanceOf([treasury]),
    serviceToken.read.balanceOf([treasury]),
    escrow.read.feeBps(),
    escrow.read.operatorShare(),
    escrow.read.compensationCap(),
    readDebts(operator),
  ]);
  const owed = debts.reduce((sum, debt) => sum + BigInt(debt.units), 0n);
  const text = [
    `treasury ${treasury}`,
    `  ${usdgText(units)}, ${svc} base units of SVC, fee ${fee / 100} %, of which operators have ${sharePercent(ofIt)} %`,
    `  owes ${usdgText(owed)} for ${debts.length} jobs; pays at most ${cap} credits a day, a quarter of it for one operator's jobs`,
    ...debts.map((debt) => `    ${debt.job_id}  ${usdgText(BigInt(debt.units))} to its ${debt.to}`),
  ];
  const held = { stablecoin_units: String(units), svc_units: String(svc) };
  return {
    text: text.join("\n"),
    json: { treasury, ...held, fee_bps: fee, operator_share_percent: sharePercent(ofIt), compensation_cap: cap, debts },
  };
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

export const protocol: Group = (program, { send, propose }) => {
  const group = program.command("protocol").description("pause, guardian and arbiters");
  group
    .command("pause")
    .description("guardian: stops deposits and locks, never an exit")
    .action(send(({ escrow }) => call(escrow, "setPaused", [true], "Pause deposits and locks")));
  group
    .command("resume")
    .description("guardian: resumes them")
    .action(send(({ escrow }) => call(escrow, "setPaused", [false], "Resume deposits and locks")));
  group
    .command("propose-guardian")
    .description("vote: names another guardian")
    .argument("<guardian>", "address of the guardian", address)
    .action(propose(({ escrow }, guardian) => call(escrow, "setGuardian", [guardian], `Guardian ${guardian}`)));
  group
    .command("propose-arbiters")
    .description("vote: names other arbiters")
    .requiredOption("--arbiters <A,B,C>", "addresses of the arbiters", list(address))
    .requiredOption("--quorum <N>", "how many of them rule", whole(1, 255))
    .action(
      propose(({ panel }, { arbiters, quorum }) =>
        call(panel, "setArbiters", [arbiters, quorum], `Arbiters ${arbiters.join(", ")}, of whom ${quorum} rule`),
      ),
    );
};
