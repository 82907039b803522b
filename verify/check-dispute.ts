/** Disputes and equivocation: who opened what, who ruled, and what followed. */

import { type Address, decodeFunctionData, isAddressEqual, zeroAddress } from "viem";
import { arbitrationPanelAbi } from "../protocol/generated/abi.ts";
import { ChainStatus, Ruling } from "../protocol/job-status.ts";
import { proofDigest } from "../protocol/messages.ts";
import { callerOf, deliveryIn, isSigner, jobCalls, signerOf } from "./calls.ts";
import { checkCompensations, checkEarnings, checkSlash, disputedCredits } from "./check-compensation.ts";
import { ownEvents } from "./check-lock.ts";
import { type Checks, wrongFields } from "./checks.ts";
import { isBefore } from "./events.ts";
import { type DisputeStory, isOpen, type Job, rulingOf, transitionsOf } from "./story.ts";
import { disputeKey } from "./terms.ts";

/** Longest time that a DisputeRequest can be signed ahead, seconds (`DisputeLogic`). */
const REQUEST_SPAN = 600;

export async function checkDispute(checks: Checks, job: Job): Promise<void> {
  for (const dispute of job.story.disputes) {
    checkOpening(checks, job, dispute);
    await checkDelivery(checks, job, dispute);
    checkJoin(checks, job, dispute);
    await checkKey(checks, job, dispute);
    checkVotes(checks, job, dispute);
    if (dispute.resolved !== null) checkRuling(checks, job, dispute, dispute.resolved);
  }
  await checkEquivocation(checks, job);
  checkSlash(checks, job);
  checkEarnings(checks, job);
  checkCompensations(checks, job);
}

/** True if the worker had been convicted without a vote before the dispute was opened. */
const isConvicted = ({ story: { equivocated } }: Job, { opened }: DisputeStory): boolean =>
  equivocated !== null && isBefore(equivocated, opened);

/** Until when the job could be disputed: its own window, or what an equivocation made of it. */
function dueAt(job: Job, dispute: DisputeStory): number {
  const { story, timeOf, windows } = job;
  const { proven, settled, equivocated, disputes } = story;
  if (dispute.fromProven) return proven === null ? 0 : timeOf(proven.block) + windows.finalization;
  if (settled === null) return 0;
  if (equivocated !== null && isConvicted(job, dispute)) {
    // An equivocation during a dispute leaves the time of that dispute.
    const during = disputes.find(
      ({ opened, resolved }) => isBefore(opened, equivocated) && (resolved === null || isBefore(equivocated, resolved)),
    );
    if (during !== undefined) return timeOf(during.opened.block) + windows.arbitration;
    return timeOf(equivocated.block) + windows.equivocation;
  }
  return timeOf(settled.block) + windows.dispute + windows.inclusion;
}

function checkOpening(checks: Checks, job: Job, dispute: DisputeStory): void {
  const { story, timeOf, windows, terms } = job;
  const { opened, signed, fromProven } = dispute;
  const { receivedHash, byOperator } = opened.args;
  const { wallet } = story.locked.args;
  const subject = fromProven ? story.proven : story.settled;
  const convicted = isConvicted(job, dispute);
  const due = dueAt(job, dispute);
  const time = timeOf(opened.block);

  const [call] = jobCalls(job, opened.tx, "openDispute");
  const proofHash = subject?.args.proofHash ?? null;
  const wrong = wrongFields("JobDisputed", opened.args, {
    workerHash: proofHash,
    ...(call !== undefined && { receivedHash: call.args[0] }),
  });
  if (receivedHash === proofHash) wrong.push(`JobDisputed.receivedHash is ${receivedHash}, as the worker signed it`);
  checks.note("dispute.hashes", wrong, `the client says it received ${receivedHash}, the worker signed ${proofHash}`);

  const again = story.disputes.indexOf(dispute) > 0;
  checks.add(
    "dispute.time",
    time < due && (!again || convicted),
    `it was opened at ${time}, before ${due}`,
    again && !convicted
      ? "the job was disputed twice, and its worker did not equivocate before"
      : `it was opened at ${time}, but the job could be disputed before ${due} only`,
  );
  // Anybody may send a dispute that the wallet's dispute key signed.
  const caller = signed === null ? callerOf(job, opened.tx) : null;
  const sender = byOperator ? job.transactions.get(opened.tx)?.from : (caller ?? wallet);
  const isParty = (address: Address) =>
    byOperator ? terms.isInOffice(address, story.word.operator, opened) && !convicted : isAddressEqual(address, wallet);
  checks.add(
    "dispute.party",
    sender !== undefined && isParty(sender),
    byOperator ? "the job's operator opened it" : `the wallet ${signed === null ? "itself" : "by its key"} opened it`,
    `JobDisputed.byOperator is ${byOperator}, but ${sender ?? "an unknown sender"} opened it`,
  );
  const credits = disputedCredits(story, fromProven);
  const bond = convicted || (byOperator && !fromProven) ? 0 : Math.min(credits, job.disputeBond);
  checks.note(
    "dispute.terms",
    wrongFields("JobDisputed", opened.args, {
      wallet,
      worker: subject?.args.worker ?? null,
      credits,
      bond,
      arbiterSet: terms.arbiterSet(opened),
      ruleFrom: byOperator ? Math.max(due, time + windows.inclusion) : time,
      ruleBefore: time + windows.arbitration,
    }),
    `${credits} credits are in dispute, with a bond of ${bond} credits; no ruling before ${opened.args.ruleFrom}`,
  );
}

/** Checks the operator's statement of what it sent to the client: its own signature makes it evidence. */
async function checkDelivery(checks: Checks, job: Job, { opened }: DisputeStory): Promise<void> {
  const stated = opened.args.byOperator ? await deliveryIn(job, opened.tx) : null;
  if (stated === null) return;
  const { delivery, signer } = stated;
  checks.add(
    "dispute.delivery",
    signer !== null && job.terms.isInOffice(signer, job.story.word.operator, opened),
    `the gateway signed that it sent ${delivery.complete ? "all of" : "a part of"} its reply, of hash ${delivery.sentHash}`,
    `what the gateway says it sent was signed by ${signer ?? "nobody"}, who was no signer of the job's operator`,
  );
}

/** The wallet's own hash beside its operator's. */
function checkJoin(checks: Checks, job: Job, dispute: DisputeStory): void {
  const { opened, joined, signed } = dispute;
  if (joined === null) return;
  const [call] = jobCalls(job, joined.tx, "joinDispute");
  const { wallet } = job.story.locked.args;
  const receivedHash = call?.args[1] ?? joined.args.receivedHash;
  const wrong = wrongFields("DisputeJoined", joined.args, { wallet, receivedHash });
  const time = job.timeOf(joined.block);
  const { ruleFrom: due } = opened.args;
  if (time >= due) wrong.push(`the wallet joined at ${time}, allowed was before ${due}`);
  if (!opened.args.byOperator) wrong.push("the wallet had opened the dispute itself");
  const caller = signed === null ? callerOf(job, joined.tx) : null;
  if (caller !== null && !isAddressEqual(caller, wallet)) wrong.push(`${caller} joined, who is not the wallet`);
  checks.note("dispute.join", wrong, `the wallet says it received ${receivedHash}`);
}

/** Checks that a dispute by a key was signed with the wallet's last dispute key, and that what it signed allows this dispute. */
async function checkKey(checks: Checks, job: Job, { opened, joined, signed }: DisputeStory): Promise<void> {
  if (signed === null) return;
  const did = joined ?? opened;
  const named = disputeKey(ownEvents(job), signed);
  const wrong = wrongFields("DisputeSigned", signed.args, { key: named?.key ?? zeroAddress });
  if (signed.tx !== did.tx) wrong.push(`DisputeSigned is not in the transaction of ${did.name}`);
  const [call] = jobCalls(job, signed.tx, "disputeByKey");
  if (named !== null && call !== undefined) {
    const [receivedHash, { jobId, proofHash: workerHash }, , maxBond, expiresAt, byKey] = call.args;
    wrong.push(...wrongFields(did.name, did.args, { receivedHash }));
    const time = job.timeOf(signed.block);
    const request = { jobId, receivedHash, workerHash, maxBond, keySequence: named.sequence, expiresAt };
    const signer = await signerOf(job, "DisputeRequest", request, byKey);
    if (!isSigner(signer, named.key)) wrong.push(`the request is signed by ${signer}, not by ${named.key}`);
    if (time >= expiresAt) wrong.push(`the request expired at ${expiresAt}, before ${time}`);
    if (expiresAt > time + REQUEST_SPAN) wrong.push(`the request expires at ${expiresAt}, too long after ${time}`);
    if (joined === null && opened.args.bond > maxBond)
      wrong.push(`JobDisputed.bond is ${opened.args.bond}, but the key signed for ${maxBond}`);
  }
  checks.note("dispute.key", wrong, `the wallet's dispute key ${signed.args.key} signed for it`);
}

/** From when on votes count: a wallet that joined was heard. */
const ruleFrom = ({ timeOf }: Job, { opened, joined }: DisputeStory): number =>
  joined === null ? opened.args.ruleFrom : timeOf(joined.block);

function checkVotes(checks: Checks, job: Job, dispute: DisputeStory): void {
  const { arbiterSet: set, ruleBefore } = dispute.opened.args;
  const arbiters = job.terms.arbiters(set)?.arbiters.map((one) => one.toLowerCase()) ?? [];
  const now = new Map<string, number>();
  for (const vote of dispute.votes) {
    const { arbiter, ruling } = vote.args;
    now.set(arbiter.toLowerCase(), ruling);
    const votes = [...now.values()].filter((one) => one === ruling).length;
    const wrong = wrongFields("Voted", vote.args, { votes, ...voteIn(job, vote.tx) });
    const time = job.timeOf(vote.block);
    if (!arbiters.includes(arbiter.toLowerCase())) wrong.push(`Voted.arbiter is ${arbiter}, who is not in set ${set}`);
    if (time < ruleFrom(job, dispute) || time >= ruleBefore) wrong.push(`it was cast at ${time}, out of time`);
    checks.note("dispute.vote", wrong, `${arbiter} voted ${rulingOf(ruling)}`);
  }
}

/** The vote that a transaction asked the panel for; null if another contract sent it. */
function voteIn({ transactions, addresses, jobId }: Job, tx: `0x${string}`) {
  const transaction = transactions.get(tx);
  if (!transaction?.to || !isAddressEqual(transaction.to, addresses.panel)) return null;
  const { functionName, args } = decodeFunctionData({ abi: arbitrationPanelAbi, data: transaction.input });
  const named = functionName === "vote" ? [args[0]] : functionName === "voteMany" ? args[0] : [];
  if (!named.some((one) => one.toLowerCase() === jobId)) return null;
  return { arbiter: transaction.from, ruling: args?.[1] };
}

function checkRuling(
  checks: Checks,
  job: Job,
  dispute: DisputeStory,
  resolved: NonNullable<DisputeStory["resolved"]>,
): void {
  const { story, timeOf, terms } = job;
  const { opened, votes, fromProven } = dispute;
  const { ruling } = resolved.args;
  const { ruleBefore, arbiterSet: set, byOperator } = opened.args;
  const resolvedAt = timeOf(resolved.block);
  const byEquivocation = story.equivocated?.tx === resolved.tx;
  const name = rulingOf(ruling);
  if (ruling === Ruling.None) {
    checks.add(
      "dispute.expiry",
      resolvedAt >= ruleBefore,
      "nobody ruled in time; the dispute expired",
      `DisputeResolved.ruling is ${name}: it expired at ${resolvedAt}, before the arbiters' time was over at ${ruleBefore}`,
    );
  } else if (!byEquivocation) {
    const panel = terms.arbiters(set);
    const known = (panel?.arbiters ?? []).map((one) => one.toLowerCase());
    // An arbiter's last vote counts.
    const cast = votes.filter((vote) => isBefore(vote, resolved));
    const last = new Map(cast.map(({ args }) => [args.arbiter.toLowerCase(), args.ruling]));
    const voters = [...last].filter(([arbiter, vote]) => vote === ruling && known.includes(arbiter)).length;
    const from = ruleFrom(job, dispute);
    checks.add(
      "dispute.quorum",
      panel !== null && voters >= panel.quorum && resolvedAt >= from && resolvedAt < ruleBefore,
      `${voters} arbiters of set ${set} (quorum ${panel?.quorum}) ruled ${name}, in time`,
      `DisputeResolved.ruling is ${name}, which has ${voters} votes of set ${set}; the quorum is ${panel?.quorum ?? "unknown"}, and the time ${from} to ${ruleBefore} (ruled at ${resolvedAt})`,
    );
  }

  const rejected = ruling === Ruling.Rejected;
  const stays = rejected || (ruling === Ruling.None && !fromProven);
  const bond = byOperator ? 0 : opened.args.bond;
  const returned = rejected ? 0 : bond + (fromProven ? story.word.credits : 0);
  checks.note(
    "dispute.outcome",
    wrongFields("DisputeResolved", resolved.args, {
      wallet: story.locked.args.wallet,
      ...(byEquivocation && { ruling: Ruling.WorkerAtFault }),
      status: !stays ? ChainStatus.Refunded : fromProven ? ChainStatus.Proven : ChainStatus.Settled,
      returned,
    }),
    `${name}: ${returned} credits came back from escrow${bond > 0 ? ` (bond ${rejected ? "lost" : "included"})` : ""}`,
  );
}

/** Two signed Completions: a slash without a vote. */
async function checkEquivocation(checks: Checks, job: Job): Promise<void> {
  const { story, windows, timeOf, storedProof } = job;
  const { equivocated, slashed, locked, settled } = story;
  if (equivocated === null) return;
  const { firstHash, secondHash, worker } = equivocated.args;
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
  const charged = settled !== null && isBefore(settled, equivocated);
  const wasHeld = !charged && before !== undefined && isOpen(before);
  const wrong = wrongFields("WorkerEquivocated", equivocated.args, {
    worker: story.worker,
    status: wasHeld ? ChainStatus.Refunded : before,
    disputeBefore: before === ChainStatus.Settled ? time + windows.equivocation : 0,
  });
  if (time >= timeOf(locked.block) + windows.equivocation) wrong.push(`it was shown at ${time}, too late`);
  const [call] = jobCalls(job, equivocated.tx, "proveEquivocation");
  if (call !== undefined) {
    const [first, firstByWorker, second, secondByWorker] = call.args;
    const hashes = { firstHash: first.proofHash, secondHash: second.proofHash };
    wrong.push(...wrongFields("WorkerEquivocated", equivocated.args, hashes));
    for (const [message, signature] of [[first, firstByWorker] as const, [second, secondByWorker] as const]) {
      // A proven Completion is on record: its signature is not looked at.
      if (proofDigest(message) === storedProof?.digest) continue;
      const signer = await signerOf(job, "Completion", message, signature);
      if (!isSigner(signer, worker)) {
        wrong.push(`WorkerEquivocated.worker is ${worker}, but ${signer} signed ${message.proofHash}`);
      }
    }
    if (proofDigest(first) === proofDigest(second)) wrong.push("both Completions are the same");
  }
  const good = wasHeld ? "the escrow returned" : "the job stays as it was";
  checks.note("equivocation.terms", wrong, good);
}
