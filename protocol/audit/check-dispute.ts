import { type Address, decodeFunctionData, type Hex, isAddressEqual } from "viem";
import { arbitrationPanelAbi } from "../generated/abi.ts";
import { ChainStatus } from "../job-status.ts";
import { Ruling } from "../ruling.ts";
import { RULINGS } from "./balances.ts";
import { callerOf, callsIn, callsOf } from "./calls.ts";
import { checkCompensations, disputedCredits } from "./check-compensation.ts";
import { checkSlash } from "./check-slash.ts";
import { isBefore } from "./event-log.ts";
import { type Checks, type JobEvidence, wrongFields } from "./evidence.ts";
import { messageSigner, proofDigest } from "./signatures.ts";
import { type DisputeStory, type JobStory, transitionsOf } from "./story.ts";
import { arbiterSet, currentSetAt, isInOffice } from "./terms.ts";

/** Disputes and equivocation: who opened what, who ruled, and what followed. */
export async function checkDispute(checks: Checks, story: JobStory, evidence: JobEvidence): Promise<void> {
  for (const dispute of story.disputes) {
    const due = dueAt(story, dispute, evidence);
    checkOpening(checks, story, dispute, evidence, due);
    checkJoin(checks, story, dispute, evidence, due);
    checkVotes(checks, story, dispute, evidence);
    if (dispute.resolved !== null) checkRuling(checks, story, dispute, dispute.resolved, evidence);
  }
  await checkEquivocation(checks, story, evidence);
  checkSlash(checks, story, evidence);
  checkCompensations(checks, story, evidence);
}

/** Whether the worker had been convicted without a vote when this happened. */
const isConvicted = ({ equivocated }: JobStory, { opened }: DisputeStory): boolean =>
  equivocated !== null && isBefore(equivocated, opened);

/** Until when the job could be disputed: its own window, or what an equivocation made of it. */
function dueAt(story: JobStory, dispute: DisputeStory, { timeOf, windows }: JobEvidence): number {
  const { proven, settled, equivocated, disputes } = story;
  if (dispute.fromProven) return proven === null ? 0 : timeOf(proven.block) + windows.finalization;
  if (settled === null) return 0;
  if (equivocated !== null && isConvicted(story, dispute)) {
    // An equivocation during a dispute leaves the time of that dispute.
    const during = disputes.find(
      ({ opened, resolved }) => isBefore(opened, equivocated) && (resolved === null || isBefore(equivocated, resolved)),
    );
    if (during !== undefined) return timeOf(during.opened.block) + windows.arbitration;
    return timeOf(equivocated.block) + windows.equivocation;
  }
  return timeOf(settled.block) + windows.dispute + windows.inclusion;
}

function checkOpening(
  checks: Checks,
  story: JobStory,
  dispute: DisputeStory,
  evidence: JobEvidence,
  due: number,
): void {
  const { opened, fromProven } = dispute;
  const { timeOf, windows, configuration, disputeBond, transactions } = evidence;
  const { jobId, locked, word } = story;
  const { receivedHash, byOperator } = opened.args;
  const subject = fromProven ? story.proven : story.settled;
  const time = timeOf(opened.block);
  const call = callsOf(callsIn(evidence, opened.tx), "openDispute").find(
    ({ args }) => args[1].jobId.toLowerCase() === jobId,
  );
  const proofHash = subject?.args.proofHash ?? null;
  const wrong = wrongFields("JobDisputed", opened.args, {
    workerHash: proofHash,
    ...(call !== undefined && { receivedHash: call.args[0] }),
  });
  if (receivedHash === proofHash) wrong.push(`JobDisputed.receivedHash is ${receivedHash}, as the worker signed it`);
  checks.add(
    "dispute.hashes",
    wrong.length === 0,
    `the client says it received ${receivedHash}, the worker signed ${proofHash}`,
    wrong.join("; "),
  );
  const again = story.disputes.indexOf(dispute) > 0;
  const convicted = isConvicted(story, dispute);
  checks.add(
    "dispute.time",
    time < due && (!again || convicted),
    `it was opened at ${time}, before ${due}`,
    again && !convicted
      ? "the job was disputed twice, and its worker did not equivocate before"
      : `it was opened at ${time}, but the job could be disputed before ${due} only`,
  );
  const sender = byOperator ? transactions.get(opened.tx)?.from : (callerOf(evidence, opened.tx) ?? locked.args.wallet);
  const entitled =
    sender !== undefined &&
    (byOperator
      ? isInOffice(configuration, sender, word.operator, opened) && !convicted
      : isAddressEqual(sender, locked.args.wallet));
  checks.add(
    "dispute.party",
    entitled,
    byOperator ? "the job's operator opened it" : "the wallet itself opened it",
    `JobDisputed.byOperator is ${byOperator}, but ${sender ?? "an unknown sender"} opened it`,
  );
  const credits = disputedCredits(story, fromProven);
  const bond = byOperator ? (fromProven ? credits : 0) : convicted ? 0 : disputeBond;
  checks.fields(
    "dispute.terms",
    "JobDisputed",
    opened.args,
    {
      wallet: locked.args.wallet,
      worker: subject?.args.worker ?? null,
      credits,
      bond,
      arbiterSet: currentSetAt(configuration, opened),
      ruleFrom: byOperator ? due : time,
      ruleBefore: time + windows.arbitration,
    },
    `${credits} credits are in dispute, with a bond of ${bond} credits; no ruling before ${opened.args.ruleFrom}`,
  );
}

/** The wallet's own hash beside its operator's. */
function checkJoin(
  checks: Checks,
  { locked, jobId }: JobStory,
  { opened, joined }: DisputeStory,
  evidence: JobEvidence,
  due: number,
): void {
  if (joined === null) return;
  const call = callsOf(callsIn(evidence, joined.tx), "joinDispute").find(({ args }) => args[0].toLowerCase() === jobId);
  const { wallet } = locked.args;
  const receivedHash = call?.args[1] ?? joined.args.receivedHash;
  const wrong = wrongFields("DisputeJoined", joined.args, { wallet, receivedHash });
  const time = evidence.timeOf(joined.block);
  if (time >= due) wrong.push(`the wallet joined at ${time}, allowed was before ${due}`);
  if (!opened.args.byOperator) wrong.push("the wallet had opened the dispute itself");
  const caller = callerOf(evidence, joined.tx);
  if (caller !== null && !isAddressEqual(caller, wallet)) wrong.push(`${caller} joined, who is not the wallet`);
  checks.add("dispute.join", wrong.length === 0, `the wallet says it received ${receivedHash}`, wrong.join("; "));
}

/** From when on votes count: a wallet that joined was heard. */
const ruleFrom = ({ opened, joined }: DisputeStory, { timeOf }: JobEvidence): number =>
  joined === null ? opened.args.ruleFrom : timeOf(joined.block);

function checkVotes(checks: Checks, { jobId }: JobStory, dispute: DisputeStory, evidence: JobEvidence): void {
  const { opened, votes } = dispute;
  const { arbiterSet: set, ruleBefore } = opened.args;
  const arbiters = arbiterSet(evidence.configuration, set)?.arbiters.map((one) => one.toLowerCase()) ?? [];
  const now = new Map<string, number>();
  for (const vote of votes) {
    const { arbiter, ruling } = vote.args;
    const cast = votedIn(evidence, vote.tx, jobId);
    now.set(arbiter.toLowerCase(), ruling);
    const expected = { votes: [...now.values()].filter((one) => one === ruling).length, ...cast };
    const wrong = wrongFields("Voted", vote.args, expected);
    const time = evidence.timeOf(vote.block);
    if (!arbiters.includes(arbiter.toLowerCase())) wrong.push(`Voted.arbiter is ${arbiter}, who is not in set ${set}`);
    if (time < ruleFrom(dispute, evidence) || time >= ruleBefore) wrong.push(`it was cast at ${time}, out of time`);
    const good = `${arbiter} voted ${RULINGS[ruling]}`;
    checks.add("dispute.vote", wrong.length === 0, good, wrong.join("; "));
  }
}

/** What a transaction asked the panel for; null when another contract sent it. */
function votedIn(
  { transactions, addresses }: JobEvidence,
  tx: Hex,
  jobId: Hex,
): { arbiter: Address; ruling: number } | null {
  const transaction = transactions.get(tx);
  if (!transaction?.to || !isAddressEqual(transaction.to, addresses.panel)) return null;
  const { functionName, args } = decodeFunctionData({ abi: arbitrationPanelAbi, data: transaction.input });
  const named = functionName === "vote" ? [args[0]] : functionName === "voteMany" ? args[0] : [];
  if (!named.some((one) => one.toLowerCase() === jobId)) return null;
  return { arbiter: transaction.from, ruling: args?.[1] as number };
}

function checkRuling(
  checks: Checks,
  story: JobStory,
  dispute: DisputeStory,
  resolved: NonNullable<DisputeStory["resolved"]>,
  evidence: JobEvidence,
): void {
  const { opened, votes, fromProven } = dispute;
  const { ruling } = resolved.args;
  const resolvedAt = evidence.timeOf(resolved.block);
  const { ruleBefore, arbiterSet: set, byOperator } = opened.args;
  const byEquivocation = story.equivocated?.tx === resolved.tx;
  const name = RULINGS[ruling] ?? `ruling ${ruling}`;
  if (ruling === Ruling.None) {
    checks.add(
      "dispute.expiry",
      resolvedAt >= ruleBefore,
      "nobody ruled in time; the dispute expired",
      `DisputeResolved.ruling is ${name}: it expired at ${resolvedAt}, before the arbiters' time was over at ${ruleBefore}`,
    );
  } else if (!byEquivocation) {
    const arbiters = arbiterSet(evidence.configuration, set);
    const known = (address: string) => arbiters?.arbiters.some((one) => one.toLowerCase() === address.toLowerCase());
    // An arbiter's last vote counts.
    const last = new Map(
      votes.filter((vote) => isBefore(vote, resolved)).map(({ args }) => [args.arbiter, args.ruling]),
    );
    const voters = [...last].filter(([arbiter, vote]) => vote === ruling && known(arbiter)).length;
    const from = ruleFrom(dispute, evidence);
    checks.add(
      "dispute.quorum",
      arbiters !== null && voters >= arbiters.quorum && resolvedAt >= from && resolvedAt < ruleBefore,
      `${voters} arbiters of set ${set} (quorum ${arbiters?.quorum}) ruled ${name}, in time`,
      `DisputeResolved.ruling is ${name}, which has ${voters} votes of set ${set}; the quorum is ${arbiters?.quorum ?? "unknown"}, and the time ${from} to ${ruleBefore} (ruled at ${resolvedAt})`,
    );
  }

  const rejected = ruling === Ruling.Rejected;
  const { Proven, Settled, Refunded } = ChainStatus;
  const stays = rejected || (ruling === Ruling.None && !fromProven);
  const bond = byOperator ? 0 : opened.args.bond;
  const returned = rejected ? 0 : bond + (fromProven ? story.word.credits : 0);
  checks.fields(
    "dispute.outcome",
    "DisputeResolved",
    resolved.args,
    {
      wallet: story.locked.args.wallet,
      ...(byEquivocation && { ruling: Ruling.WorkerAtFault }),
      status: stays ? (fromProven ? Proven : Settled) : Refunded,
      returned,
    },
    `${name}: ${returned} credits came back from escrow${bond > 0 ? ` (bond ${rejected ? "lost" : "included"})` : ""}`,
  );
}

/** Two signed Completions: a slash without a vote. */
async function checkEquivocation(checks: Checks, story: JobStory, evidence: JobEvidence): Promise<void> {
  const { equivocated, slashed, locked, jobId } = story;
  if (equivocated === null) return;
  const { firstHash, secondHash, worker } = equivocated.args;
  const { chainId, addresses, windows, timeOf, storedProof } = evidence;
  checks.add(
    "equivocation.slash",
    slashed !== null && isAddressEqual(slashed.args.signer, worker) && slashed.tx === equivocated.tx,
    `worker ${worker} signed two Completions (${firstHash} and ${secondHash}) and was slashed without a vote`,
    `WorkerEquivocated.worker is ${worker}, but no slash of it is recorded for this job`,
  );
  const time = timeOf(equivocated.block);
  const before = transitionsOf(story.events).find(
    ({ event }) => event.logIndex === equivocated.logIndex && event.tx === equivocated.tx,
  )?.before;
  const charged = story.settled !== null && isBefore(story.settled, equivocated);
  const settled = before === ChainStatus.Settled;
  const wrong = wrongFields("WorkerEquivocated", equivocated.args, {
    worker: story.worker,
    status: charged ? before : ChainStatus.Refunded,
    disputeBefore: settled ? time + windows.equivocation : 0,
  });
  if (time >= timeOf(locked.block) + windows.equivocation) wrong.push(`it was shown at ${time}, too late`);
  const call = callsOf(callsIn(evidence, equivocated.tx), "proveEquivocation").find(
    ({ args }) => args[0].jobId.toLowerCase() === jobId,
  );
  if (call !== undefined) {
    const [first, firstByWorker, second, secondByWorker] = call.args;
    const hashes = { firstHash: first.proofHash, secondHash: second.proofHash };
    wrong.push(...wrongFields("WorkerEquivocated", equivocated.args, hashes));
    for (const [message, signature] of [[first, firstByWorker] as const, [second, secondByWorker] as const]) {
      // A proven Completion is on record: its signature is not looked at.
      if (proofDigest(message) === storedProof?.digest) continue;
      const signer = await messageSigner([chainId, addresses.escrow], "Completion", message, signature);
      if (signer === null || !isAddressEqual(signer, worker)) {
        wrong.push(`WorkerEquivocated.worker is ${worker}, but ${signer} signed ${message.proofHash}`);
      }
    }
    if (proofDigest(first) === proofDigest(second)) wrong.push("both Completions are the same");
  }
  const good = charged ? "the charge stands until it is ruled on" : "the escrow returned";
  checks.add("equivocation.terms", wrong.length === 0, good, wrong.join("; "));
}
