import { isAddressEqual, sha256 } from "viem";
import type { Completion } from "../messages.ts";
import { callsOf, escrowCalls } from "./calls.ts";
import { isBefore } from "./event-log.ts";
import type { Checks, JobEvidence } from "./evidence.ts";
import { completionSigner } from "./signatures.ts";
import type { JobStory } from "./story.ts";
import { payoutAt } from "./terms.ts";

/** What a settlement's calldata says: the Completion, and how many tokens its caller counted. */
type Submission = { completion: Completion; countedTokens: number; signature: { r: `0x${string}`; vs: `0x${string}` } };

/** The worker's signature, what it stands for, and when; of a settled job or of one that is only proven. */
export async function checkProof(checks: Checks, story: JobStory, evidence: JobEvidence): Promise<void> {
  const { settled, proven } = story;
  const subject = settled ?? proven;
  if (subject === null) return;
  const { worker, proofHash, promptTokens, completionTokens } = subject.args;
  const submission = submissionOf(story, evidence);
  if (submission === null) {
    const { tx } = proven ?? subject;
    checks.add(
      "proof.calldata",
      false,
      "",
      `the worker's signature is not in the calldata of ${tx}: it cannot be verified`,
    );
  } else {
    const { completion, signature, countedTokens } = submission;
    const signer = await completionSigner(evidence.chainId, evidence.addresses.escrow, completion, signature);
    checks.add(
      "proof.signature",
      signer !== null && isAddressEqual(signer, worker),
      `worker ${worker} signed the proof`,
      `the proof is attributed to worker ${worker}, but ${signer === null ? "its signature is malformed" : `${signer} signed it`}`,
    );
    checks.add(
      "proof.statement",
      completion.proofHash === proofHash &&
        completion.promptTokens === promptTokens &&
        completion.completionTokens === completionTokens,
      `the event shows what the worker signed: SHA-256 ${proofHash.slice(2)}, ${promptTokens} prompt and ${completionTokens} output tokens`,
      `the event shows hash ${proofHash}, ${promptTokens} + ${completionTokens} tokens; signed were ${completion.proofHash}, ${completion.promptTokens} + ${completion.completionTokens}`,
    );
    if (settled !== null) {
      const billed = Math.min(completion.completionTokens, countedTokens);
      checks.add(
        "settlement.tokens",
        settled.args.billedTokens === billed,
        `${billed} output tokens were billed: the lesser of the worker's and the gateway's count`,
        `${settled.args.billedTokens} output tokens were billed, but the worker signed ${completion.completionTokens} and the gateway counted ${countedTokens}`,
      );
    }
    checkTimes(checks, story, evidence, completion);
  }
  const registered = payoutAt(evidence.configuration, worker, subject);
  checks.add(
    "proof.worker",
    registered !== null && (story.worker === null || isAddressEqual(story.worker, worker)),
    `${worker} was registered and held the job`,
    registered === null
      ? `${worker} was not registered as a worker`
      : `${worker} did not hold the job; ${story.worker} did`,
  );
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

function checkTimes(
  checks: Checks,
  { locked, proven, settled, resolved }: JobStory,
  { timeOf, windows }: JobEvidence,
  { completedAt }: Completion,
): void {
  const lockedAt = timeOf(locked.block);
  const submitted = proven ?? settled;
  if (submitted === null) return;
  const submittedAt = timeOf(submitted.block);
  checks.add(
    "proof.time",
    completedAt >= lockedAt &&
      completedAt < lockedAt + windows.completion &&
      submittedAt < lockedAt + windows.completion + windows.inclusion,
    `the answer was finished ${completedAt - lockedAt} s after the lock and submitted after ${submittedAt - lockedAt} s, both in time`,
    `the answer was finished ${completedAt - lockedAt} s after the lock and submitted after ${submittedAt - lockedAt} s; allowed are less than ${windows.completion} s and ${windows.completion + windows.inclusion} s`,
  );
  if (proven === null || settled === null) return;
  const waited = timeOf(settled.block) - submittedAt;
  const byGateway = timeOf(settled.block) < lockedAt + windows.completion + windows.inclusion;
  // A rejected dispute has used up the time: the proof can be finalized at once.
  const ruled = resolved !== null && isBefore(resolved, settled);
  checks.add(
    "settlement.time",
    byGateway || ruled || waited >= windows.finalization,
    `it was settled ${waited} s after its proof`,
    `it was finalized ${waited} s after its proof, before the ${windows.finalization} s were over`,
  );
}

/** The signed Completion in the calldata: of the proof if there was one, else of the settlement. */
function submissionOf({ jobId, proven, settled }: JobStory, evidence: JobEvidence): Submission | null {
  const callsIn = (tx: `0x${string}`) => {
    const transaction = evidence.transactions.get(tx);
    const logs = evidence.events.filter((event) => event.tx === tx);
    return transaction ? escrowCalls(transaction, evidence.addresses.escrow, logs) : [];
  };
  const ofJob = (completion: { jobId: string }) => completion.jobId.toLowerCase() === jobId;
  if (settled !== null) {
    // The first one settles; a repetition in the same batch is a no-op.
    const complete = callsOf(callsIn(settled.tx), "complete").find(({ args }) => ofJob(args[0]));
    if (complete) {
      const [completion, countedTokens, signature] = complete.args;
      return { completion, countedTokens, signature };
    }
  }
  if (proven === null) return null;
  const submit = callsOf(callsIn(proven.tx), "submitProof").find(({ args }) => ofJob(args[0]));
  if (submit === undefined) return null;
  const [completion, signature] = submit.args;
  return { completion, countedTokens: completion.completionTokens, signature };
}
