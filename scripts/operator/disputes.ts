import { decodeLogs, eventsOf, eventTopic } from "../../protocol/audit/event-log.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { positional, readChoice, readJobId } from "./arguments.ts";
import type { Operator, Output } from "./context.ts";
import { submit } from "./transactions.ts";

/** Rulings as an arbiter names them, in the order of `Ruling` from 1. */
const RULINGS = ["worker-at-fault", "gateway-at-fault", "rejected"] as const;

/** Disputes that nobody ended yet, with the votes so far and the time that is left. */
export async function listDisputes(operator: Operator): Promise<Output> {
  const { escrow, panel } = operator.contracts;
  const head = await operator.client.getBlockNumber({ cacheTime: 0 });
  const filter = { address: escrow.address, topics: [eventTopic("escrow", "JobDisputed")] };
  const logs = await operator.logs.read(filter, BigInt(operator.deployment.startBlock), head);
  const disputed = eventsOf(decodeLogs(logs, operator.addresses), "escrow", "JobDisputed");
  const now = Number((await operator.client.getBlock()).timestamp);
  const rows = await Promise.all(
    disputed.map(async ({ args }) => {
      const { jobId, arbiterSet, ruleBefore } = args;
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
          worker_hash: args.workerHash,
          credits: args.credits,
          opened_by: args.byGateway ? "gateway" : "wallet",
          votes: Object.fromEntries(RULINGS.map((name, i) => [name, votes[i]])),
          quorum,
          rule_before: new Date(ruleBefore * 1000).toISOString(),
          can_expire: now >= ruleBefore,
        },
      ];
    }),
  );
  const list = rows.flat();
  const text = list.map(
    (one) =>
      `${one.job_id}  ${one.credits} credits, by the ${one.opened_by}, ${Object.entries(one.votes)
        .map(([name, votes]) => `${name} ${votes}`)
        .join(", ")} of ${one.quorum}; ${one.can_expire ? "can be expired" : `until ${one.rule_before}`}`,
  );
  return { text: text.join("\n") || "no open disputes", json: list };
}

/** An arbiter's vote; the one that reaches the quorum rules. */
export async function voteDispute(operator: Operator, args: readonly string[]): Promise<Output> {
  const jobId = readJobId(positional(args, 0, "job id"));
  const ruling = readChoice(positional(args, 1, RULINGS.join("|")), "<ruling>", RULINGS);
  const call = { ...operator.contracts.panel, functionName: "vote", args: [jobId, RULINGS.indexOf(ruling) + 1] };
  return await submit(operator, call, `Vote ${ruling} on the dispute of ${toApiJobId(jobId)}`);
}

/** Ends a dispute that the arbiters left. Anyone can, from its deadline on. */
export async function expireDispute(operator: Operator, args: readonly string[]): Promise<Output> {
  const jobId = readJobId(positional(args, 0, "job id"));
  const call = { ...operator.contracts.escrow, functionName: "expire", args: [jobId] };
  return await submit(operator, call, `Expire the dispute of ${toApiJobId(jobId)}`);
}
