import { getAddress, type Hex } from "viem";
import type { FinishReason } from "../../protocol/dispatch.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { type SignedStatement, statementOf } from "../routes/completion-shapes.ts";
import type { Cipher } from "../store/cipher.ts";
import type { JobStore } from "../store/jobs.ts";
import type { StoredJob } from "../store/stored-job.ts";

/** An answer as it was delivered, read back from the store. */
export type StoredAnswer = {
  text: string;
  finishReason: FinishReason;
  proofHash: Hex;
  promptTokens: number;
  completionTokens: number;
  /** The worker's signed Completion. */
  statement: SignedStatement;
};

/** The kept answer of a job; null if it has none, or its time is over. */
export async function readAnswer(store: JobStore, cipher: Cipher, job: StoredJob): Promise<StoredAnswer | null> {
  const signed = job.completion;
  const encrypted = signed === null ? null : await store.output(job.jobId);
  if (signed === null || encrypted === null || job.worker === null) return null;
  const { completion, finish_reason } = signed;
  return {
    text: cipher.decrypt(encrypted, toApiJobId(job.jobId)),
    finishReason: finish_reason as FinishReason,
    proofHash: completion.proofHash,
    promptTokens: completion.promptTokens,
    completionTokens: Math.min(completion.completionTokens, job.countedTokens ?? completion.completionTokens),
    statement: statementOf(getAddress(job.worker), signed),
  };
}
