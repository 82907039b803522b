import { decodeLogs, eventsOf, eventTopic } from "../../protocol/audit/event-log.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { positional, readChoice, readJobId } from "./arguments.ts";
import type { Operator, Output } from "./context.ts";
import { submit } from "./transactions.ts";

const iso = (seconds: number) => new Date(seconds * 1000).toISOString();

/** Rulings as an arbiter names them, in the order of `Ruling` from 1. */
const RULINGS = ["worker-at-fault", "gateway-at-fault", "rejected"] as const;

/** Disputes that nobody ended yet: who says what, the votes so far, and when votes count. */
export async function listDisputes(operator: Operator): Promise<Output> {
  const { escrow, panel } = operator.contracts;
  const head = await operator.client.getBlockNumber({ cacheTime: 0 });
  const topics = [[eventTopic("escrow", "JobDisputed"), eventTopic("escrow", "DisputeJoined")]];
  const filter = { address: escrow.address, topics };
  const logs = decodeLogs(
    await operator.logs.read(filter, BigInt(operator.deployment.startBlock), head),
    operator.addresses,
  );
  const joined = new Map(eventsOf(logs, "escrow", "DisputeJoined").map(({ args }) => [args.jobId, args.receivedHash]));
  // A job can be disputed again after its worker equivocated: the last dispute is the open one.
  const disputed = new Map(eventsOf(logs, "escrow", "JobDisputed").map(({ args }) => [args.jobId, args]));
  const now = Number((await operator.client.getBlock()).timestamp);
  const rows = await Promise.all(
    [...disputed.values()].map(async (args) => {
      const { jobId, arbiterSet, ruleFrom, ruleBefore } = args;
      const job = await operator.client.readContract({ ...escrow, functionName: "jobOf", args: [jobId] });
      if (job.status !== ChainStatus.Disputed) return [];
      const [, quorum] = await operator.client.readContract({
        ...panel,
        functionName: "arbitersOf",
        args: [arbiterSet],
      });
      const votes = await Promise.all(
        RULINGS.map((_, i) =>
          operator.client.readContract({ ...panel, functionName: "votesFor", args: [jobId, i + 1] }),
        ),
      );
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
  const list = rows.flat();
  const text = list.map(
    (one) =>
      `${one.job_id}  ${one.credits} credits, by the ${one.opened_by}${one.joined_hash === null ? "" : " and its wallet"}, ` +
      `${Object.entries(one.votes)
        .map(([name, votes]) => `${name} ${votes}`)
        .join(", ")} of ${one.quorum}; ${whenOf(one)}`,
  );
  return { text: text.join("\n") || "no open disputes", json: list };
}

function whenOf(dispute: { can_expire: boolean; can_be_ruled: boolean; rule_from: string; rule_before: string }) {
  if (dispute.can_expire) return "can be expired";
  return dispute.can_be_ruled ? `until ${dispute.rule_before}` : `votes from ${dispute.rule_from}`;
}

/** An arbiter's vote; the one that reaches the quorum rules. */
export async function voteDispute(operator: Operator, args: readonly string[]): Promise<Output> {
  const jobId = readJobId(positional(args, 0, "job id"));
  const ruling = readChoice(positional(args, 1, RULINGS.join("|")), "<ruling>", RULINGS);
  const call = { ...operator.contracts.panel, functionName: "vote", args: [jobId, RULINGS.indexOf(ruling) + 1] };
  return await submit(operator, call, `Vote ${ruling} on the dispute of ${toApiJobId(jobId)}`);
}

/** An arbiter's vote against several disputes in one transaction. */
export async function rejectDisputes(operator: Operator, args: readonly string[]): Promise<Output> {
  const jobIds = args.map(readJobId);
  const ruling = RULINGS.indexOf("rejected") + 1;
  const call = { ...operator.contracts.panel, functionName: "voteMany", args: [jobIds, ruling] };
  return await submit(operator, call, `Vote rejected on the disputes of ${jobIds.map(toApiJobId).join(", ")}`);
}

/** Ends a dispute that the arbiters left. Anyone can, from its deadline on. */
export async function expireDispute(operator: Operator, args: readonly string[]): Promise<Output> {
  const jobId = readJobId(positional(args, 0, "job id"));
  const call = { ...operator.contracts.escrow, functionName: "expire", args: [jobId] };
  return await submit(operator, call, `Expire the dispute of ${toApiJobId(jobId)}`);
}
