/** What the protocol's people decide: the catalog, votes, the treasury, the pause, and disputes. */
import { decodeEventLog, erc20Abi, getAbiItem, type Hex, keccak256, toBytes, toEventSelector } from "viem";
import { protocolGovernorAbi, protocolTimelockAbi } from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { TIERS, tierName } from "../../protocol/tiers.ts";
import { eventsOf } from "../../verify/events.ts";
import {
  type Call,
  type Command,
  iso,
  type Operator,
  OperatorError,
  type Output,
  readAddress,
  readChoice,
  readInteger,
  readJobId,
  readOption,
} from "./operator.ts";

const HIGHEST_PRICE = 65_535;

export const MODELS: readonly Command[] = [
  { usage: "models list", does: "the catalog, with announced prices and ends", show: listModels },
  {
    usage: "models propose-add <id> --parameters P --owned-by O --tier T --per-request N --per-1k N --context-window N",
    does: "vote: lists a model",
    propose: (operator, [id = ""]) => {
      const listing = {
        id,
        parameters: readOption(operator, "parameters"),
        ownedBy: readOption(operator, "owned-by"),
        tier: TIERS.indexOf(readChoice(readOption(operator, "tier"), "--tier", TIERS)),
        ...readPrices(operator),
        contextWindow: readInteger(operator.flags["context-window"], "--context-window", 1, 2 ** 32 - 1),
      };
      return { ...operator.contracts.catalog, functionName: "list", args: [listing], what: `List model ${id}` };
    },
  },
  {
    usage: "models propose-prices <id> --per-request N --per-1k N",
    does: "vote: announces prices",
    propose: async (operator, [id]) => {
      const { number } = await readModel(operator, id);
      const { creditsPerRequest, creditsPer1kTokens } = readPrices(operator);
      const args = [number, creditsPerRequest, creditsPer1kTokens];
      const what = `Price of ${id}: ${creditsPerRequest} a request, ${creditsPer1kTokens} per 1,000 tokens`;
      return { ...operator.contracts.catalog, functionName: "schedulePrices", args, what };
    },
  },
  { usage: "models propose-retire <id> --at TIME", does: "vote: ends a model, with its notice", propose: retirement },
];

async function readModels({ client, contracts }: Operator) {
  const count = await client.readContract({ ...contracts.catalog, functionName: "modelCount" });
  const one = (_: unknown, i: number) =>
    client.readContract({ ...contracts.catalog, functionName: "modelAt", args: [i + 1] });
  return await Promise.all(Array.from({ length: count }, one));
}

async function readModel(operator: Operator, id: string | undefined) {
  const models = await readModels(operator);
  const found = models.find(({ listing }) => listing.id === id);
  if (found === undefined) {
    throw new OperatorError(`the catalog has no ${id}; it has ${models.map(({ listing }) => listing.id).join(", ")}`);
  }
  return found;
}

async function listModels(operator: Operator): Promise<Output> {
  const list = (await readModels(operator)).map((model) => ({
    number: model.number,
    id: model.listing.id,
    tier: tierName(model.listing.tier),
    credits_per_request: model.listing.creditsPerRequest,
    credits_per_1k_tokens: model.listing.creditsPer1kTokens,
    context_window: model.listing.contextWindow,
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
  const text = list.map((one) => {
    const { next_prices: next, retires_at: end } = one;
    const announced = next ? ` → ${next.credits_per_request}/${next.credits_per_1k_tokens} from ${next.from}` : "";
    const prices = `${one.credits_per_request}/${one.credits_per_1k_tokens}${announced}`;
    return `${one.number}  ${one.id.padEnd(32)} ${one.tier.padEnd(9)} ${prices}${end ? ` ends ${end}` : ""}`;
  });
  return { text: text.join("\n"), json: list };
}

/** The notice counts from the execution, which is a vote and a timelock away: that is checked here. */
async function retirement(operator: Operator, [id]: readonly string[]): Promise<Call> {
  const { number } = await readModel(operator, id);
  const { at } = operator.flags;
  const time = typeof at === "string" && /T.*(Z|[+-]\d\d:\d\d)$/.test(at) ? Date.parse(at) : Number.NaN;
  if (Number.isNaN(time)) {
    throw new OperatorError(`--at ${at ?? ""} must be a time with its zone, e.g. 2030-01-31T12:00:00Z`);
  }
  const retiresAt = Math.floor(time / 1000);
  const { client, contracts, deployment } = operator;
  const timelock = { address: deployment.contracts.ProtocolTimelock, abi: protocolTimelockAbi } as const;
  const waits = await Promise.all([
    client.readContract({ ...contracts.catalog, functionName: "retirementNotice" }),
    client.readContract({ ...contracts.governor, functionName: "votingDelay" }),
    client.readContract({ ...contracts.governor, functionName: "votingPeriod" }),
    client.readContract({ ...timelock, functionName: "getMinDelay" }),
    client.getBlock().then(({ timestamp }) => timestamp),
  ]);
  const earliest = waits.map(Number).reduce((a, b) => a + b, 0);
  if (retiresAt < earliest) {
    throw new OperatorError(
      `--at ${iso(retiresAt)} is too early: vote, timelock and notice take until ${iso(earliest)} at the soonest`,
    );
  }
  const what = `Retire ${id} at ${iso(retiresAt)}`;
  return { ...contracts.catalog, functionName: "scheduleRetirement", args: [number, retiresAt], what };
}

const readPrices = ({ flags }: Operator) => ({
  creditsPerRequest: readInteger(flags["per-request"], "--per-request", 1, HIGHEST_PRICE),
  creditsPer1kTokens: readInteger(flags["per-1k"], "--per-1k", 1, HIGHEST_PRICE),
});

const STATES = ["pending", "active", "canceled", "defeated", "succeeded", "queued", "expired", "executed"] as const;
const SUPPORT = ["against", "for", "abstain"] as const;
const CREATED = getAbiItem({ abi: protocolGovernorAbi, name: "ProposalCreated" });

export const PROPOSALS: readonly Command[] = [
  {
    usage: "proposals list",
    does: "governance proposals, their state and what comes next",
    show: async (operator) => {
      const proposals = await readProposals(operator);
      const rows = await Promise.all(proposals.map((proposal) => describeProposal(operator, proposal)));
      const text = rows.map(
        (row) => `${row.state.padEnd(10)} ${row.id}  ${row.description}${row.next ? ` (${row.next})` : ""}`,
      );
      return { text: text.join("\n") || "no proposals", json: rows };
    },
  },
  {
    usage: "proposals delegate",
    does: "makes one's own SVC count as votes",
    send: (operator) => {
      const { address } = operator.account;
      const what = `Vote with the SVC of ${address}`;
      return { ...operator.contracts.serviceToken, functionName: "delegate", args: [address], what };
    },
  },
  { usage: "proposals vote <id> for|against|abstain", does: "votes", send: voteProposal },
  {
    usage: "proposals queue <id>",
    does: "starts the timelock of what was decided",
    send: (operator, args) => carryOut(operator, args, "queue"),
  },
  {
    usage: "proposals execute <id>",
    does: "carries it out; anyone can",
    send: (operator, args) => carryOut(operator, args, "execute"),
  },
];

async function readProposals(operator: Operator) {
  const logs = await operator.logs(operator.contracts.governor.address, [toEventSelector(CREATED)]);
  return logs.map(({ topics, data }) => {
    const { args } = decodeEventLog({ abi: [CREATED], topics: topics as [Hex, ...Hex[]], data });
    return { ...args, id: args.proposalId };
  });
}
type Proposal = Awaited<ReturnType<typeof readProposals>>[number];

async function readProposal(operator: Operator, id: string | undefined): Promise<Proposal> {
  const found = (await readProposals(operator)).find((proposal) => String(proposal.id) === id);
  if (found === undefined) throw new OperatorError(`there is no proposal ${id}; see \`proposals list\``);
  return found;
}

async function describeProposal({ client, contracts }: Operator, { id, description, targets }: Proposal) {
  const { governor } = contracts;
  const read = async (functionName: "proposalSnapshot" | "proposalDeadline" | "proposalEta") =>
    iso(Number(await client.readContract({ ...governor, functionName, args: [id] })));
  const [number, snapshot, deadline, eta, votes] = await Promise.all([
    client.readContract({ ...governor, functionName: "state", args: [id] }),
    read("proposalSnapshot"),
    read("proposalDeadline"),
    read("proposalEta"),
    client.readContract({ ...governor, functionName: "proposalVotes", args: [id] }),
  ]);
  const state = STATES[number] ?? String(number);
  const nextOf: Record<string, string> = {
    pending: `vote from ${snapshot}`,
    active: `vote until ${deadline}`,
    succeeded: "can be queued",
    queued: `can be executed from ${eta}`,
  };
  const [against, inFavour, abstain] = votes.map(String);
  const next = nextOf[state] ?? null;
  return { id: String(id), state, description, targets, next, votes: { for: inFavour, against, abstain } };
}

async function voteProposal(operator: Operator, [number, word = ""]: readonly string[]): Promise<Call> {
  const { id, description } = await readProposal(operator, number);
  const support = readChoice(word, "<vote>", SUPPORT);
  const { client, contracts, account } = operator;
  const { governor } = contracts;
  const snapshot = await client.readContract({ ...governor, functionName: "proposalSnapshot", args: [id] });
  if (snapshot < (await client.getBlock()).timestamp) {
    const args = [account.address, snapshot] as const;
    if ((await client.readContract({ ...governor, functionName: "getVotes", args })) === 0n) {
      throw new OperatorError(`${account.address} has no votes in this proposal: delegate before a proposal is made`);
    }
  }
  const args = [id, SUPPORT.indexOf(support)];
  return { ...governor, functionName: "castVote", args, what: `Vote ${support}: ${description}` };
}

/** Queues or executes: both take the proposal itself, which its id stands for. */
async function carryOut(operator: Operator, [id]: readonly string[], functionName: "queue" | "execute"): Promise<Call> {
  const { targets, values, calldatas, description } = await readProposal(operator, id);
  const args = [targets, values, calldatas, keccak256(toBytes(description))];
  const what = `${functionName === "queue" ? "Queue" : "Execute"}: ${description}`;
  return { ...operator.contracts.governor, functionName, args, what };
}

export const TREASURY: readonly Command[] = [
  { usage: "treasury show", does: "balances, fee and debts", show: showTreasury },
  {
    usage: "treasury collect <job id>",
    does: "has a debt paid; anyone can",
    send: ({ contracts }, [id = ""]) => {
      const jobId = readJobId(id);
      const what = `Have the treasury pay its debt for ${toApiJobId(jobId)}`;
      return { ...contracts.escrow, functionName: "collectDebt", args: [jobId], what };
    },
  },
  {
    usage: "treasury propose-pay stablecoin|svc <receiver> <units>",
    does: "vote: pays out",
    propose: ({ contracts, deployment }, [token = "", to = "", amount = ""]) => {
      const { Stablecoin, ServiceToken } = deployment.contracts;
      const address = readChoice(token, "<token>", ["stablecoin", "svc"]) === "svc" ? ServiceToken : Stablecoin;
      const receiver = readAddress(to, "<receiver>");
      // Base units may exceed 2^53.
      if (!/^\d{1,60}$/.test(amount) || BigInt(amount) === 0n) {
        throw new OperatorError(`<units> ${amount} must be a whole number of base units above 0`);
      }
      const what = `Pay ${amount} units of ${token} to ${receiver}`;
      return { ...contracts.treasury, functionName: "pay", args: [address, receiver, BigInt(amount)], what };
    },
  },
  {
    usage: "treasury propose-fee <bps>",
    does: "vote: announces the protocol fee",
    propose: ({ contracts }, [bps]) => {
      const feeBps = readInteger(bps, "<bps>", 0, 2_000);
      const what = `Protocol fee of ${feeBps / 100} %`;
      return { ...contracts.escrow, functionName: "scheduleFee", args: [feeBps], what };
    },
  },
  {
    usage: "treasury propose-cap <credits>",
    does: "vote: what compensations may cost a day",
    propose: ({ contracts }, [amount]) => {
      const credits = readInteger(amount, "<credits>", 0, 1_000_000);
      const what = `Compensations of at most ${credits} credits a day`;
      return { ...contracts.escrow, functionName: "setCompensationCap", args: [credits], what };
    },
  },
];

/** What the treasury holds, and what it owes for jobs. */
async function showTreasury(operator: Operator): Promise<Output> {
  const { client, deployment, contracts } = operator;
  const treasury = await client.readContract({ ...contracts.escrow, functionName: "treasury" });
  const balance = (address: Hex) =>
    client.readContract({ address, abi: erc20Abi, functionName: "balanceOf", args: [treasury] });
  const [stablecoin, svc, fee, cap, debts] = await Promise.all([
    balance(deployment.contracts.Stablecoin),
    balance(deployment.contracts.ServiceToken),
    client.readContract({ ...contracts.escrow, functionName: "feeBps" }),
    client.readContract({ ...contracts.escrow, functionName: "compensationCap" }),
    readDebts(operator),
  ]);
  const owed = debts.reduce((sum, { units }) => sum + BigInt(units), 0n);
  const text = [
    `treasury ${treasury}`,
    `  ${stablecoin} units of the stablecoin (${Number(stablecoin) / 1e6}), ${svc} base units of SVC, fee ${fee / 100} %`,
    `  owes ${owed} units for ${debts.length} jobs; pays at most ${cap} credits a day, a quarter of it for one operator's jobs`,
    ...debts.map(({ job_id, units, to }) => `    ${job_id}  ${units} units to its ${to}`),
  ];
  const [stablecoin_units, svc_units] = [String(stablecoin), String(svc)];
  const json = { treasury, stablecoin_units, svc_units, fee_bps: fee, compensation_cap: cap, debts };
  return { text: text.join("\n"), json };
}

async function readDebts(operator: Operator) {
  const paid = eventsOf(await operator.escrowEvents("Compensated"), "escrow", "Compensated");
  const call = { ...operator.contracts.escrow, functionName: "compensationOf" } as const;
  const debts = await Promise.all(
    [...new Set(paid.map(({ args }) => args.jobId))].map(async (jobId) => {
      const [granted, sent, toWorker] = await operator.client.readContract({ ...call, args: [jobId] });
      return { job_id: toApiJobId(jobId), units: String(granted - sent), to: toWorker ? "worker" : "client" };
    }),
  );
  return debts.filter(({ units }) => units !== "0");
}

const pause = ({ contracts }: Operator, paused: boolean): Call => ({
  ...contracts.escrow,
  functionName: "setPaused",
  args: [paused],
  what: paused ? "Pause deposits and locks" : "Resume deposits and locks",
});

export const PROTOCOL: readonly Command[] = [
  {
    usage: "protocol pause",
    does: "guardian: stops deposits and locks, never an exit",
    send: (operator) => pause(operator, true),
  },
  { usage: "protocol resume", does: "guardian: resumes them", send: (operator) => pause(operator, false) },
];

/** Rulings as an arbiter names them, in the order of `Ruling` from 1. */
const RULINGS = ["worker-at-fault", "gateway-at-fault", "rejected"] as const;

export const DISPUTES: readonly Command[] = [
  { usage: "disputes list", does: "open disputes with votes and deadlines", show: listDisputes },
  {
    usage: "disputes vote <job id> worker-at-fault|gateway-at-fault|rejected",
    does: "arbiter: votes",
    send: ({ contracts }, [id = "", word = ""]) => {
      const jobId = readJobId(id);
      const ruling = readChoice(word, "<ruling>", RULINGS);
      const what = `Vote ${ruling} on the dispute of ${toApiJobId(jobId)}`;
      return { ...contracts.panel, functionName: "vote", args: [jobId, RULINGS.indexOf(ruling) + 1], what };
    },
  },
  {
    usage: "disputes reject <job id>…",
    does: "arbiter: rejects several at once, all or none",
    send: ({ contracts }, ids) => {
      const jobIds = ids.map(readJobId);
      const args = [jobIds, RULINGS.indexOf("rejected") + 1];
      const what = `Vote rejected on the disputes of ${jobIds.map(toApiJobId).join(", ")}`;
      return { ...contracts.panel, functionName: "voteMany", args, what };
    },
  },
  {
    usage: "disputes expire <job id>",
    does: "ends one that the arbiters left; anyone can",
    send: ({ contracts }, [id = ""]) => {
      const jobId = readJobId(id);
      const what = `Expire the dispute of ${toApiJobId(jobId)}`;
      return { ...contracts.escrow, functionName: "expire", args: [jobId], what };
    },
  },
];

/** Disputes that nobody ended yet: who says what, the votes so far, and when votes count. */
async function listDisputes(operator: Operator): Promise<Output> {
  const { client, contracts } = operator;
  const events = await operator.escrowEvents("JobDisputed", "DisputeJoined");
  const joined = new Map(
    eventsOf(events, "escrow", "DisputeJoined").map(({ args }) => [args.jobId, args.receivedHash]),
  );
  // A job can be disputed again after its worker equivocated: the last dispute is the open one.
  const disputed = new Map(eventsOf(events, "escrow", "JobDisputed").map(({ args }) => [args.jobId, args]));
  const now = Number((await client.getBlock()).timestamp);
  const rows = await Promise.all(
    [...disputed].map(async ([jobId, args]) => {
      const { arbiterSet, ruleFrom, ruleBefore } = args;
      const job = await client.readContract({ ...contracts.escrow, functionName: "jobOf", args: [jobId] });
      if (job.status !== ChainStatus.Disputed) return [];
      const set = { ...contracts.panel, functionName: "arbitersOf", args: [arbiterSet] } as const;
      const [, quorum] = await client.readContract(set);
      const votesFor = (_: unknown, i: number) =>
        client.readContract({ ...contracts.panel, functionName: "votesFor", args: [jobId, i + 1] });
      const votes = await Promise.all(RULINGS.map(votesFor));
      return [
        {
          job_id: toApiJobId(jobId),
          wallet: args.wallet,
          worker: args.worker,
          received_hash: args.receivedHash,
          joined_hash: args.byOperator ? (joined.get(jobId) ?? null) : null,
          worker_hash: args.workerHash,
          credits: args.credits,
          bond: args.bond,
          opened_by: args.byOperator ? "operator" : "wallet",
          votes: Object.fromEntries(RULINGS.map((name, i) => [name, votes[i]])),
          quorum,
          rule_from: iso(ruleFrom),
          rule_before: iso(ruleBefore),
          can_be_ruled: now >= ruleFrom && now < ruleBefore,
          can_expire: now >= ruleBefore,
        },
      ];
    }),
  );
  const text = rows.flat().map((one) => {
    const parties = `by the ${one.opened_by}${one.joined_hash === null ? "" : " and its wallet"}`;
    const votes = Object.entries(one.votes).map(([name, count]) => `${name} ${count}`);
    const open = one.can_be_ruled ? `until ${one.rule_before}` : `votes from ${one.rule_from}`;
    const when = one.can_expire ? "can be expired" : open;
    return `${one.job_id}  ${one.credits} credits, ${parties}, ${votes.join(", ")} of ${one.quorum}; ${when}`;
  });
  return { text: text.join("\n") || "no open disputes", json: rows.flat() };
}
