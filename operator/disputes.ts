/**
 * The arbiters' commands. An operator opens a dispute for any hash that a client names, so most can be noise. The gateway's signed
 * statement of what it sent (protocol/delivery.ts) refutes those that rest on a client's word alone. All others are for a person to read.
 */
import { Argument } from "@commander-js/extra-typings";
import { type Address, type Hex, isAddressEqual, parseEventLogs } from "viem";
import { type Delivery, whyRead } from "../protocol/delivery.ts";
import { toApiJobId } from "../protocol/job-id.ts";
import { Ruling } from "../protocol/job-status.ts";
import { readEvents, readSigners } from "../scripts/deploy/contracts.ts";
import { deliveryIn } from "../verify/calls.ts";
import { isBefore } from "../verify/events.ts";
import { type Group, jobId, jobIds } from "./command.ts";
import { call, iso, type Operator, OperatorError, type Output, submit } from "./operator.ts";

/** Rulings as an arbiter names them, in the order of `Ruling` from 1. */
const RULINGS = ["worker-at-fault", "gateway-at-fault", "rejected"] as const;
const numberOf = (ruling: (typeof RULINGS)[number]): number => RULINGS.indexOf(ruling) + 1;
/** Disputes that one transaction rejects: a vote that rules costs up to 106,000 gas, and a transaction may use 16.7 million (EIP-7825). */
const MOST = 150;
/** A transaction is mined within this time. One dispute that ends before would void all votes of the batch. */
const MINED_SECONDS = 120;

export const disputes: Group = (program, { show, send }) => {
  const group = program.command("disputes").description("open disputes");
  group
    .command("list")
    .description("open disputes with votes and deadlines, and which ones a gateway's statement refutes")
    .action(show(listDisputes));
  group
    .command("vote")
    .description("arbiter: votes")
    .argument("<job id>", "the disputed job", jobId)
    .addArgument(new Argument("<ruling>", "the vote").choices(RULINGS))
    .action(
      send(({ panel }, id, ruling) =>
        call(panel, "vote", [id, numberOf(ruling)], `Vote ${ruling} on the dispute of ${toApiJobId(id)}`),
      ),
    );
  group
    .command("reject")
    .description("arbiter: rejects several at once; those that have ended are passed over")
    .argument("<job id...>", "the disputed jobs", jobIds)
    .action(send(({ panel }, ids) => rejection(panel, ids, `the disputes of ${ids.map(toApiJobId).join(", ")}`)));
  group
    .command("reject-refuted")
    .description("arbiter: rejects all refuted ones in one transaction")
    .action(show(rejectRefuted));
  group
    .command("expire")
    .description("ends one that the arbiters left; anyone can")
    .argument("<job id>", "the disputed job", jobId)
    .action(send(({ escrow }, id) => call(escrow, "expire", [id], `Expire the dispute of ${toApiJobId(id)}`)));
};

const rejection = (panel: Operator["panel"], ids: readonly Hex[], which: string) =>
  call(panel, "voteMany", [ids, Ruling.Rejected], `Vote rejected on ${which}`);

type OpenDispute = Awaited<ReturnType<typeof readOpened>>[number] & {
  /** The gateway's signed statement of what it sent; null without one by a key that was a signer of its operator then. */
  delivery: (Delivery & { signer: Address }) | null;
};

/** Disputes that nobody ended yet, in the order in which they were opened, with each arbiter's last vote. */
async function readOpened({ client, escrow, panel, deployment }: Operator) {
  const from = BigInt(deployment.startBlock);
  const names = ["JobDisputed", "DisputeJoined", "DisputeResolved", "WorkerEquivocated"] as const;
  const [events, voted] = await Promise.all([
    readEvents(client, escrow, [...names], from),
    readEvents(client, panel, ["Voted"], from),
  ]);
  const convicted = new Set<Hex>();
  const open = new Map<Hex, ReturnType<typeof opening>>();
  const opening = (event: Extract<(typeof events)[number], { eventName: "JobDisputed" }>) => {
    const place = { block: event.blockNumber, logIndex: event.logIndex };
    const isLater = (vote: (typeof voted)[number]) =>
      vote.args.jobId === event.args.jobId && isBefore(place, { block: vote.blockNumber, logIndex: vote.logIndex });
    const votes = new Map(voted.filter(isLater).map(({ args }) => [args.arbiter, args.ruling]));
    return { ...event.args, tx: event.transactionHash, joinedHash: null as Hex | null, convicted: false, votes };
  };
  for (const event of events) {
    const { jobId } = event.args;
    if (event.eventName === "JobDisputed") open.set(jobId, opening(event));
    else if (event.eventName === "DisputeResolved") open.delete(jobId);
    else if (event.eventName === "WorkerEquivocated") convicted.add(jobId);
    else {
      const joined = open.get(jobId);
      if (joined !== undefined) joined.joinedHash = event.args.receivedHash;
    }
  }
  return [...open.values()].map((dispute) => ({ ...dispute, convicted: convicted.has(dispute.jobId) }));
}

/** The same with what their gateways say. */
async function readDisputes(operator: Operator): Promise<OpenDispute[]> {
  const { client, escrow, deployment } = operator;
  const opened = await readOpened(operator);
  const signers = await readSigners(client, escrow, BigInt(deployment.startBlock));
  const hashes = [...new Set(opened.filter(({ byOperator }) => byOperator).map(({ tx }) => tx))];
  const transactions = new Map(
    await Promise.all(hashes.map(async (tx) => [tx, await readBatch(operator, tx)] as const)),
  );
  const describe = async (dispute: Awaited<ReturnType<typeof readOpened>>[number]): Promise<OpenDispute> => {
    const batch = transactions.get(dispute.tx);
    if (batch === undefined) return { ...dispute, delivery: null };
    const { transaction, failed, time } = batch;
    const evidence = {
      jobId: dispute.jobId,
      chainId: deployment.chainId,
      addresses: { escrow: escrow.address },
      transactions: new Map([[dispute.tx, transaction]]),
      events: failed,
    };
    const [stated, job] = await Promise.all([deliveryIn(evidence, dispute.tx), escrow.read.jobOf([dispute.jobId])]);
    const wasSigner = ({ key, operator: of, removedAt }: (typeof signers)[number]) =>
      of === job.operator &&
      (removedAt === 0 || removedAt > time) &&
      stated?.signer &&
      isAddressEqual(key, stated.signer);
    const signer = signers.find(wasSigner)?.key;
    const delivery = stated === null || signer === undefined ? null : { ...stated.delivery, signer };
    return { ...dispute, delivery };
  };
  return await Promise.all(opened.map(describe));
}

/** A transaction that opened disputes, its items that failed, and its time. */
async function readBatch({ client, escrow }: Operator, hash: Hex) {
  const [{ from, to, input }, { logs, blockNumber }] = await Promise.all([
    client.getTransaction({ hash }),
    client.getTransactionReceipt({ hash }),
  ]);
  const own = logs.filter(({ address }) => isAddressEqual(address, escrow.address));
  const failed = parseEventLogs({ abi: escrow.abi, logs: own, eventName: "BatchItemFailed" }).map((log) => ({
    contract: "escrow" as const,
    name: log.eventName,
    args: log.args,
    block: blockNumber,
    logIndex: log.logIndex,
    tx: hash,
  }));
  const { timestamp } = await client.getBlock({ blockNumber });
  return { transaction: { hash, from, to, input, block: blockNumber }, failed, time: Number(timestamp) };
}

const toBeRead = (dispute: OpenDispute) => whyRead({ ...dispute, votes: dispute.votes.values() });

/** Lists open disputes: each side's statement, the votes so far, and when votes count. Disputes that a person has to read come first. */
async function listDisputes(operator: Operator): Promise<Output> {
  const { client, panel } = operator;
  const now = Number((await client.getBlock()).timestamp);
  const disputes = await readDisputes(operator);
  const toRead = disputes.filter((one) => toBeRead(one) !== null);
  const refuted = disputes.filter((one) => toBeRead(one) === null);
  const json = await Promise.all(
    [...toRead, ...refuted].map(async (one) => {
      const { ruleFrom, ruleBefore, delivery } = one;
      const [, quorum] = await panel.read.arbitersOf([one.arbiterSet]);
      const cast = [...one.votes.values()];
      return {
        job_id: toApiJobId(one.jobId),
        wallet: one.wallet,
        worker: one.worker,
        received_hash: one.receivedHash,
        joined_hash: one.joinedHash,
        worker_hash: one.workerHash,
        delivery: delivery && {
          sent_hash: delivery.sentHash,
          complete: delivery.complete,
          signed_by: delivery.signer,
        },
        to_read: toBeRead(one),
        credits: one.credits,
        bond: one.bond,
        opened_by: one.byOperator ? "operator" : "wallet",
        votes: Object.fromEntries(RULINGS.map((name) => [name, cast.filter((vote) => vote === numberOf(name)).length])),
        quorum,
        rule_from: iso(ruleFrom),
        rule_before: iso(ruleBefore),
        can_be_ruled: now >= ruleFrom && now < ruleBefore,
        can_expire: now >= ruleBefore,
      };
    }),
  );
  const text = json.map((one) => {
    const votes = Object.entries(one.votes).map(([name, count]) => `${name} ${count}`);
    const open = one.can_be_ruled ? `until ${one.rule_before}` : `votes from ${one.rule_from}`;
    const when = one.can_expire ? "can be expired" : open;
    const sorted = one.to_read === null ? "refuted" : `to be read: ${one.to_read}`;
    return `${one.job_id}  wallet ${one.wallet}  ${one.credits} credits, ${votes.join(", ")} of ${one.quorum}; ${when}; ${sorted}`;
  });
  return { text: text.join("\n") || "no open disputes", json };
}

/** Votes on the refuted disputes that this arbiter can rule on now, those first whose time ends first. */
async function rejectRefuted(operator: Operator): Promise<Output> {
  const { client, panel, wallet } = operator;
  const { address } = wallet.account;
  const now = Number((await client.getBlock()).timestamp);
  const refuted = (await readDisputes(operator)).filter((one) => toBeRead(one) === null && !one.votes.has(address));
  const ready = refuted.filter(({ ruleFrom, ruleBefore }) => now >= ruleFrom && now + MINED_SECONDS < ruleBefore);
  const sets = [...new Set(ready.map(({ arbiterSet }) => arbiterSet))];
  const own = await Promise.all(
    sets.map(async (set) => ((await panel.read.arbitersOf([set]))[0].includes(address) ? [set] : [])),
  );
  const votable = ready.filter(({ arbiterSet }) => own.flat().includes(arbiterSet));
  if (ready.length > 0 && votable.length === 0) {
    throw new OperatorError(`${address} is no arbiter of the ${ready.length} disputes that are refuted`);
  }
  const ids = votable
    .toSorted((a, b) => a.ruleBefore - b.ruleBefore)
    .slice(0, MOST)
    .map(({ jobId }) => jobId);
  const counts = { waiting: refuted.length - ready.length, left: votable.length - ids.length };
  const more = [
    ...(counts.waiting > 0 ? [`${counts.waiting} more are refuted and cannot be ruled now.`] : []),
    ...(counts.left > 0 ? [`${counts.left} more are left: repeat the command.`] : []),
  ];
  if (ids.length === 0) {
    return {
      text: ["no refuted dispute can be rejected now", ...more].join("\n"),
      json: { sent: false, rejected: [], ...counts },
    };
  }
  const { text, json } = await submit(operator, rejection(panel, ids, `${ids.length} disputes that gateways refute`));
  return { text: [text, ...more].join("\n"), json: { ...(json as object), rejected: ids.map(toApiJobId), ...counts } };
}
