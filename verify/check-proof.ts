/** Checks what the worker signed, when, and that it held the job; of a settled job or of one that is only proven. */

import { type Address, type Hex, isAddressEqual, sha256 } from "viem";
import { answerHash } from "../protocol/answer-hash.ts";
import { proofDigest } from "../protocol/messages.ts";
import { charge, provenTokens, settledTokens } from "../protocol/pricing.ts";
import { decodeUsageWord, signedCompletion } from "../protocol/words.ts";
import { type CompactSignature, isSigner, jobCalls, signerOf } from "./calls.ts";
import { type Checks, wrongFields } from "./checks.ts";
import { type EscrowEvent, isBefore, type Place } from "./events.ts";
import type { Job } from "./story.ts";

type Settled = EscrowEvent<"JobSettled">;
type Proven = EscrowEvent<"JobProven">;

export async function checkProof(checks: Checks, job: Job): Promise<void> {
  const { settled, proven, acknowledged, word } = job.story;
  await checkAcknowledgements(checks, job);
  if (proven !== null) await checkRecorded(checks, job, proven);
  const subject = settled ?? proven;
  if (subject === null) {
    if (job.text !== null) checks.note("proof.text", ["the job has no proof to compare the text with"], "");
    return;
  }
  if (settled !== null) await checkSettled(checks, job, settled);
  checkTimes(checks, job);

  const { worker, proofHash } = subject.args;
  const held = acknowledged.findLast((event) => isBefore(event, subject));
  const wrong = held === undefined ? [] : wrongFields(subject.name, { worker }, { worker: held.args.worker });
  // Without an acknowledgement the settlement takes the worker on.
  const unfit = unfitness(job, worker, word.model, held ?? subject);
  if (unfit !== null) wrong.push(`${subject.name}.worker is ${worker}, which ${unfit}`);
  checks.note("proof.worker", wrong, `${worker} was registered and held the job`);
  // No rule forbids it, and the flat price is charged for it: a reader of the audit should see it.
  if (isEmptyAnswer(proofHash))
    checks.note("proof.empty", [], "the worker's answer is empty: its hash is that of no text");
  if (job.text === null) return;
  const hash = sha256(job.text);
  checks.add(
    "proof.text",
    hash === proofHash,
    "the text is the one the worker signed",
    `the text's SHA-256 is ${hash.slice(2)}, the worker signed ${proofHash.slice(2)}: it is another text`,
  );
}

const HASH_OF_NOTHING = answerHash("");
/** True if a proof is of an answer without any text. */
export const isEmptyAnswer = (proofHash: Hex | undefined): boolean => proofHash === HASH_OF_NOTHING;

/** Settled by `finalize`: the event has the digest on record where the worker's signature would stand. */
const isFinalized = ({ args }: Settled): boolean => BigInt(args.vs) === 0n;

/** Each worker that took the job: on a valid offer, with a higher attempt than the one before. */
async function checkAcknowledgements(checks: Checks, job: Job): Promise<void> {
  let earlier = 0;
  for (const event of job.story.acknowledged) {
    const { worker, attempt } = event.args;
    const wrong: string[] = [];
    if (attempt <= earlier) wrong.push(`JobAcknowledged.attempt is ${attempt}, after ${earlier}`);
    earlier = attempt;
    const unfit = unfitness(job, worker, job.story.word.model, event);
    if (unfit !== null) wrong.push(`JobAcknowledged.worker is ${worker}, which ${unfit}`);
    wrong.push(...(await wrongOffer(job, event)));
    checks.note("proof.acknowledged", wrong, `${worker} took attempt ${attempt}`);
  }
}

/** The faults of the offer and the acceptance behind an acknowledgement; empty where the calldata does not show them. */
async function wrongOffer(job: Job, event: EscrowEvent<"JobAcknowledged">): Promise<string[]> {
  const { story, terms, timeOf } = job;
  const { locked, word, jobId } = story;
  const { worker, attempt } = event.args;
  // The first call of a worker counts; its repetitions have no effect.
  const calls = jobCalls(job, event.tx, "acknowledge");
  const call = calls.find(({ args }) => args[0].attempt === attempt) ?? calls[0];
  if (call === undefined) return [];
  const [assignment, byGateway, byWorker] = call.args;
  const offered = { worker: assignment.worker, attempt: assignment.attempt };
  const wrong = wrongFields("JobAcknowledged", event.args, offered);
  const signer = await signerOf(job, "Acknowledgement", { jobId, attempt }, byWorker);
  if (!isSigner(signer, worker)) {
    wrong.push(`JobAcknowledged.worker is ${worker}, but attempt ${attempt} is signed by ${signer}`);
  }
  const sender = job.transactions.get(event.tx)?.from;
  const own = sender !== undefined && terms.isInOffice(sender, word.operator, event);
  const gateway = own ? sender : await signerOf(job, "Assignment", assignment, byGateway);
  const by = gateway === null ? null : terms.signer(gateway, event);
  const removedAt = by?.removed ? timeOf(by.removed.block) : null;
  if (by?.operator !== word.operator || (removedAt !== null && timeOf(locked.block) > removedAt)) {
    wrong.push(`the offer is signed by ${gateway}, which was no signer of operator ${word.operator} for this job`);
  }
  if (timeOf(event.block) >= assignment.acknowledgeBy) {
    wrong.push(`it was mined at ${timeOf(event.block)}, the offer held before ${assignment.acknowledgeBy}`);
  }
  return wrong;
}

/** Why a worker could not take a job of the model at `place`; null if it could. */
function unfitness({ terms }: Job, signer: Address, model: number, place: Place): string | null {
  const worker = terms.worker(signer, place);
  if (worker === null) return "was not registered as a worker";
  if (worker.unbonding) return "was unbonding";
  if (worker.stake < (terms.stake(place)?.minimumStake ?? 0n)) return "had less than the minimum stake";
  return worker.models.has(model) ? null : `did not host model ${model}`;
}

/** A proof without its gateway: everybody can dispute or finalize it, so all of it must be public and as it was signed. */
async function checkRecorded(checks: Checks, job: Job, proven: Proven): Promise<void> {
  const { args } = proven;
  const { word, settled } = job.story;
  const completion = signedCompletion(args);
  const finalizeFrom = job.timeOf(proven.block) + job.windows.finalization;
  const billedTokens = provenTokens(completion);
  const credits = charge(billedTokens, word, word.credits);
  const shown = { ...args, ...decodeUsageWord(args.usage) };
  const terms = wrongFields("JobProven", shown, { billedTokens, credits, finalizeFrom });
  checks.note("proof.terms", terms, `it charges ${credits} credits from ${finalizeFrom} on`);
  const { digest = null, credits: recorded = null } = job.storedProof ?? {};
  checks.note(
    "proof.digest",
    wrongFields("proofOf", { digest, credits: recorded }, { digest: proofDigest(completion), credits }),
    "the digest on record is that of the Completion in JobProven",
  );
  const [call] = jobCalls(job, proven.tx, "submitProof");
  // A forwarding contract may have hidden the call. The chain verified the signature then, and keeps the digest.
  if (call === undefined) return;
  const [{ jobId: _, ...signed }, signature] = call.args;
  checks.note("proof.recorded", wrongFields("JobProven", shown, signed), "JobProven shows what the worker signed");
  if (settled === null || isFinalized(settled)) await checkSignature(checks, job, proven, signature);
}

async function checkSettled(checks: Checks, job: Job, settled: Settled): Promise<void> {
  const { proofHash, r, vs, usage } = settled.args;
  const { proven } = job.story;
  const completion = signedCompletion(settled.args);
  const { billedTokens } = decodeUsageWord(usage);
  const shown = { ...settled.args, ...decodeUsageWord(usage) };
  if (isFinalized(settled)) {
    const wrong = wrongFields("JobSettled", { r }, { r: `${proofDigest(completion)}00000000` });
    if (proven === null) wrong.push("JobSettled.vs is zero, as after finalize, but no JobProven made the proof public");
    checks.note("proof.statement", wrong, "the settlement names the digest on record");
  } else {
    await checkSignature(checks, job, settled, { r, vs });
  }
  if (proven !== null) {
    const { jobId: _, ...recorded } = signedCompletion(proven.args);
    checks.note("proof.same", wrongFields("JobSettled", shown, recorded), "it is the answer that was proven before");
  }
  const { completionTokens, reasoningTokens } = completion;
  const signedTokens = `${completionTokens} output tokens and ${reasoningTokens} of reasoning`;
  // The first call settles; a repetition in the same batch is a no-op.
  const [complete] = jobCalls(job, settled.tx, "complete");
  if (complete === undefined) {
    // The gateway's count is not known here: any count below the worker's may be its own.
    const isRight = isFinalized(settled)
      ? billedTokens === provenTokens(completion)
      : billedTokens === settledTokens(completion, billedTokens);
    checks.add(
      "settlement.tokens",
      isRight,
      `${billedTokens} output tokens were billed; the worker signed ${signedTokens}`,
      `JobSettled.billedTokens is ${billedTokens}, but the worker signed ${signedTokens} in a text of ${completion.textBytes} bytes`,
    );
    return;
  }
  const [{ jobId: _, ...signed }, countedTokens, signature, wallet] = complete.args;
  checks.note(
    "proof.statement",
    wrongFields("JobSettled", shown, { ...signed, ...signature, wallet }),
    `the event shows what the worker signed: SHA-256 ${proofHash.slice(2)}, ${signed.promptTokens} prompt tokens, ${signedTokens}`,
  );
  const billed = settledTokens(completion, countedTokens);
  checks.add(
    "settlement.tokens",
    billedTokens === billed,
    `${billed} output tokens were billed: the lesser of the worker's and the gateway's count`,
    `JobSettled.billedTokens is ${billedTokens}, but the worker signed ${signedTokens} and the gateway counted ${countedTokens}`,
  );
}

async function checkSignature(
  checks: Checks,
  job: Job,
  subject: Settled | Proven,
  signature: CompactSignature,
): Promise<void> {
  const { worker } = subject.args;
  const isSettled = subject.name === "JobSettled";
  const signer = await signerOf(job, "Completion", signedCompletion(subject.args), signature);
  const found = signer === null ? "no valid signature" : `a signature of ${signer}`;
  checks.add(
    "proof.signature",
    signer !== null && isAddressEqual(signer, worker),
    `worker ${worker} signed the proof`,
    `${subject.name}.worker is ${worker}, but ${isSettled ? "JobSettled.r and JobSettled.vs are" : "its call has"} ${found} of what the event shows`,
  );
}

function checkTimes(checks: Checks, { story: { locked, proven, settled, disputes }, timeOf, windows }: Job): void {
  const submitted = proven ?? settled;
  if (submitted === null) return;
  const { completedAt } = decodeUsageWord(submitted.args.usage);
  const lockedAt = timeOf(locked.block);
  const submittedAt = timeOf(submitted.block);
  const submitBefore = lockedAt + windows.completion + windows.inclusion;
  const [finished, sent] = [completedAt - lockedAt, submittedAt - lockedAt];
  checks.add(
    "proof.time",
    finished >= 0 && finished < windows.completion && completedAt <= submittedAt && submittedAt < submitBefore,
    `the answer was finished ${finished} s after the lock and submitted after ${sent} s, both in time`,
    `${submitted.name}.completedAt is ${completedAt}: ${finished} s after the lock, submitted after ${sent} s; allowed are less than ${windows.completion} s and ${windows.completion + windows.inclusion} s, and no time to come`,
  );
  if (proven === null || settled === null) return;
  const waited = timeOf(settled.block) - submittedAt;
  const byGateway = !isFinalized(settled) && timeOf(settled.block) < submitBefore;
  // A rejected dispute has used up the time: the proof can be finalized at once.
  const ruled = disputes.some(({ resolved }) => resolved !== null && isBefore(resolved, settled));
  checks.add(
    "settlement.time",
    byGateway || ruled || waited >= windows.finalization,
    `it was settled ${waited} s after its proof`,
    `it was finalized ${waited} s after its proof, before the ${windows.finalization} s were over`,
  );
}
