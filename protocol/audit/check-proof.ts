import { type Address, isAddressEqual, sha256 } from "viem";
import type { Completion } from "../messages.ts";
import { charge } from "../pricing.ts";
import { decodeUsageWord } from "../words.ts";
import { callsIn, callsOf } from "./calls.ts";
import { type EscrowEvent, isBefore } from "./event-log.ts";
import { type Checks, type JobEvidence, wrongFields } from "./evidence.ts";
import { type CompactSignature, messageSigner, proofDigest } from "./signatures.ts";
import type { JobStory } from "./story.ts";
import { isInOffice, type Place, signerAt, stakeTermsAt, workerAt } from "./terms.ts";

/** The Completion that a settlement tells. */
export function settledCompletion({ args }: EscrowEvent<"JobSettled">): Completion {
  const { promptTokens, completionTokens, completedAt } = decodeUsageWord(args.usage);
  return { jobId: args.jobId, proofHash: args.proofHash, promptTokens, completionTokens, completedAt };
}

/** The Completion that a proof tells. */
export function provenCompletion({ args }: EscrowEvent<"JobProven">): Completion {
  const { jobId, proofHash, promptTokens, completionTokens, completedAt } = args;
  return { jobId, proofHash, promptTokens, completionTokens, completedAt };
}

/** Settled by `finalize`: the event has the digest on record where the worker's signature would stand. */
export const isFinalized = ({ args }: EscrowEvent<"JobSettled">): boolean => BigInt(args.vs) === 0n;

/** What the worker signed, when, and that it held the job; of a settled job or of one that is only proven. */
export async function checkProof(checks: Checks, story: JobStory, evidence: JobEvidence): Promise<void> {
  await checkAcknowledgements(checks, story, evidence);
  const { settled, proven } = story;
  if (proven !== null) await checkRecorded(checks, story, proven, evidence);
  const subject = settled ?? proven;
  if (subject === null) return;
  const { worker, proofHash } = subject.args;
  if (settled !== null) await checkSettled(checks, story, settled, evidence);
  checkTimes(checks, story, evidence);

  const held = story.acknowledged.findLast((event) => isBefore(event, subject));
  const wrong = held === undefined ? [] : wrongFields(subject.name, { worker }, { worker: held.args.worker });
  // Without an acknowledgement the settlement takes the worker on.
  const unfit = unfitness(evidence, worker, story.word.model, held ?? subject);
  if (unfit !== null) wrong.push(`${subject.name}.worker is ${worker}, which ${unfit}`);
  checks.add("proof.worker", wrong.length === 0, `${worker} was registered and held the job`, wrong.join("; "));
  if (evidence.text !== null) {
    const hash = sha256(evidence.text);
    checks.add(
      "proof.text",
      hash === proofHash,
      "the text is the one the worker signed",
      `the text's SHA-256 is ${hash.slice(2)}, the worker signed ${proofHash.slice(2)}: it is another text`,
    );
  }
}

/** Each worker that took the job: on a valid offer, with a higher attempt than the one before. */
async function checkAcknowledgements(
  checks: Checks,
  { acknowledged, word, locked, jobId }: JobStory,
  evidence: JobEvidence,
) {
  const { configuration, timeOf, chainId, addresses } = evidence;
  const domain = [chainId, addresses.escrow] as const;
  let earlier = 0;
  for (const event of acknowledged) {
    const { worker, attempt } = event.args;
    const wrong: string[] = [];
    if (attempt <= earlier) wrong.push(`JobAcknowledged.attempt is ${attempt}, after ${earlier}`);
    earlier = attempt;
    const unfit = unfitness(evidence, worker, word.model, event);
    if (unfit !== null) wrong.push(`JobAcknowledged.worker is ${worker}, which ${unfit}`);
    // The first call of a worker counts; its repetitions have no effect.
    const calls = callsOf(callsIn(evidence, event.tx), "acknowledge").filter(
      ({ args }) => args[0].jobId.toLowerCase() === jobId,
    );
    const call = calls.find(({ args }) => args[0].attempt === attempt) ?? calls[0];
    if (call !== undefined) {
      const [assignment, byGateway, byWorker] = call.args;
      const stated = { worker, attempt };
      wrong.push(...wrongFields("JobAcknowledged", stated, { worker: assignment.worker, attempt: assignment.attempt }));
      const signer = await messageSigner(domain, "Acknowledgement", { jobId, attempt }, byWorker);
      if (signer === null || !isAddressEqual(signer, worker)) {
        wrong.push(`JobAcknowledged.worker is ${worker}, but attempt ${attempt} is signed by ${signer}`);
      }
      const sender = evidence.transactions.get(event.tx)?.from;
      const own = sender !== undefined && isInOffice(configuration, sender, word.operator, event);
      const gateway = own ? sender : await messageSigner(domain, "Assignment", assignment, byGateway);
      const by = gateway === null ? null : signerAt(configuration, gateway, event);
      const removedAt = by?.removed ? timeOf(by.removed.block) : null;
      if (by?.operator !== word.operator || (removedAt !== null && timeOf(locked.block) > removedAt)) {
        wrong.push(`the offer is signed by ${gateway}, which was no signer of operator ${word.operator} for this job`);
      }
      if (timeOf(event.block) >= assignment.acknowledgeBy) {
        wrong.push(`it was mined at ${timeOf(event.block)}, the offer held before ${assignment.acknowledgeBy}`);
      }
    }
    checks.add("proof.acknowledged", wrong.length === 0, `${worker} took attempt ${attempt}`, wrong.join("; "));
  }
}

/** Why a worker could not take a job of the model at `place`; null if it could. */
function unfitness(
  { configuration, timeOf }: JobEvidence,
  signer: Address,
  model: number,
  place: Place,
): string | null {
  const worker = workerAt(configuration, signer, place);
  if (worker === null) return "was not registered as a worker";
  if (worker.unbonding) return "was unbonding";
  const minimum = stakeTermsAt(configuration, place, timeOf(place.block), timeOf)?.minimumStake ?? 0n;
  if (worker.stake < minimum) return "had less than the minimum stake";
  return worker.models.has(model) ? null : `did not host model ${model}`;
}

/** A proof without its gateway: everybody can dispute or finalize it, so all of it must be public and as it was signed. */
async function checkRecorded(
  checks: Checks,
  { word, jobId, settled }: JobStory,
  proven: EscrowEvent<"JobProven">,
  evidence: JobEvidence,
): Promise<void> {
  const { args } = proven;
  const completion = provenCompletion(proven);
  const finalizeFrom = evidence.timeOf(proven.block) + evidence.windows.finalization;
  const credits = charge(args.completionTokens, word, word.credits);
  checks.fields(
    "proof.terms",
    "JobProven",
    args,
    { credits, finalizeFrom },
    `it charges ${credits} credits from ${finalizeFrom} on`,
  );
  checks.fields(
    "proof.digest",
    "proofOf",
    { digest: evidence.storedProof?.digest ?? null, credits: evidence.storedProof?.credits ?? null },
    { digest: proofDigest(completion), credits },
    "the digest on record is that of the Completion in JobProven",
  );
  const call = callsOf(callsIn(evidence, proven.tx), "submitProof").find(
    ({ args: [one] }) => one.jobId.toLowerCase() === jobId,
  );
  // A forwarding contract may have hidden the call. The chain verified the signature then, and keeps the digest.
  if (call === undefined) return;
  const [statement, signature] = call.args;
  const { jobId: _, ...signed } = statement;
  const wrong = wrongFields("JobProven", args, signed);
  checks.add("proof.recorded", wrong.length === 0, "JobProven shows what the worker signed", wrong.join("; "));
  if (settled === null || isFinalized(settled)) await checkSignature(checks, proven, completion, signature, evidence);
}

async function checkSettled(
  checks: Checks,
  { jobId, proven }: JobStory,
  settled: EscrowEvent<"JobSettled">,
  evidence: JobEvidence,
): Promise<void> {
  const { proofHash, r, vs, usage } = settled.args;
  const completion = settledCompletion(settled);
  const { billedTokens } = decodeUsageWord(usage);
  const shown = { ...settled.args, ...decodeUsageWord(usage) };
  if (isFinalized(settled)) {
    const wrong = wrongFields("JobSettled", { r }, { r: `${proofDigest(completion)}00000000` });
    if (proven === null) wrong.push("JobSettled.vs is zero, as after finalize, but no JobProven made the proof public");
    checks.add("proof.statement", wrong.length === 0, "the settlement names the digest on record", wrong.join("; "));
  } else {
    await checkSignature(checks, settled, completion, { r, vs }, evidence);
  }
  if (proven !== null) {
    const { jobId: _, ...recorded } = provenCompletion(proven);
    checks.fields("proof.same", "JobSettled", shown, recorded, "it is the answer that was proven before");
  }
  const ofJob = (one: { jobId: string }) => one.jobId.toLowerCase() === jobId;
  // The first one settles; a repetition in the same batch is a no-op.
  const complete = callsOf(callsIn(evidence, settled.tx), "complete").find(({ args }) => ofJob(args[0]));
  const name = "settlement.tokens";
  if (complete !== undefined) {
    const [{ jobId: _, ...signed }, countedTokens, signature, wallet] = complete.args;
    const good = `the event shows what the worker signed: SHA-256 ${proofHash.slice(2)}, ${signed.promptTokens} prompt and ${signed.completionTokens} output tokens`;
    checks.fields("proof.statement", "JobSettled", shown, { ...signed, ...signature, wallet }, good);
    const billed = Math.min(completion.completionTokens, countedTokens);
    checks.add(
      name,
      billedTokens === billed,
      `${billed} output tokens were billed: the lesser of the worker's and the gateway's count`,
      `JobSettled.billedTokens is ${billedTokens}, but the worker signed ${completion.completionTokens} and the gateway counted ${countedTokens}`,
    );
    return;
  }
  const most = completion.completionTokens;
  checks.add(
    name,
    isFinalized(settled) ? billedTokens === most : billedTokens <= most,
    `${billedTokens} output tokens were billed; the worker signed ${most}`,
    `JobSettled.billedTokens is ${billedTokens}, but the worker signed ${most}`,
  );
}

async function checkSignature(
  checks: Checks,
  subject: EscrowEvent<"JobSettled" | "JobProven">,
  completion: Completion,
  signature: CompactSignature,
  { chainId, addresses }: JobEvidence,
): Promise<void> {
  const { worker } = subject.args;
  const signer = await messageSigner([chainId, addresses.escrow], "Completion", completion, signature);
  checks.add(
    "proof.signature",
    signer !== null && isAddressEqual(signer, worker),
    `worker ${worker} signed the proof`,
    `${subject.name}.worker is ${worker}, but ${
      subject.name === "JobSettled" ? "JobSettled.r and JobSettled.vs are" : "its call has"
    } ${signer === null ? "no valid signature" : `a signature of ${signer}`} of what the event shows`,
  );
}

function checkTimes(
  checks: Checks,
  { locked, proven, settled, disputes }: JobStory,
  { timeOf, windows }: JobEvidence,
): void {
  const submitted = proven ?? settled;
  if (submitted === null) return;
  const { completedAt } =
    proven !== null ? provenCompletion(proven) : settledCompletion(settled as EscrowEvent<"JobSettled">);
  const lockedAt = timeOf(locked.block);
  const submittedAt = timeOf(submitted.block);
  checks.add(
    "proof.time",
    completedAt >= lockedAt &&
      completedAt < lockedAt + windows.completion &&
      completedAt <= submittedAt &&
      submittedAt < lockedAt + windows.completion + windows.inclusion,
    `the answer was finished ${completedAt - lockedAt} s after the lock and submitted after ${submittedAt - lockedAt} s, both in time`,
    `${submitted.name}.completedAt is ${completedAt}: ${completedAt - lockedAt} s after the lock, submitted after ${submittedAt - lockedAt} s; allowed are less than ${windows.completion} s and ${windows.completion + windows.inclusion} s, and no time to come`,
  );
  if (proven === null || settled === null) return;
  const waited = timeOf(settled.block) - submittedAt;
  const byGateway = !isFinalized(settled) && timeOf(settled.block) < lockedAt + windows.completion + windows.inclusion;
  // A rejected dispute has used up the time: the proof can be finalized at once.
  const ruled = disputes.some(({ resolved }) => resolved !== null && isBefore(resolved, settled));
  checks.add(
    "settlement.time",
    byGateway || ruled || waited >= windows.finalization,
    `it was settled ${waited} s after its proof`,
    `it was finalized ${waited} s after its proof, before the ${windows.finalization} s were over`,
  );
}
