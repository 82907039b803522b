import { createHash } from "node:crypto";
import type { Hex } from "viem";
import { z } from "zod";
import { fromProofHash, toProofHash } from "../../protocol/answer-hash.ts";
import type { DisputeDesk } from "../disputes/desk.ts";
import type { JobReader } from "../jobs/job-reader.ts";
import type { KeptAnswers } from "../jobs/kept-answers.ts";
import type { JobTimes } from "../jobs/next-step.ts";
import { contentHash, jobId, txHash } from "../schemas/primitives.ts";
import { defineRoute } from "./define-route.ts";
import { jobParams } from "./jobs.ts";
import { JOB } from "./openapi/headers.ts";
import { setJobHeaders, untilClosed } from "./request.ts";

/** Body of `POST /v1/jobs/{job_id}/dispute`. */
const disputeBodySchema = z
  .object(
    {
      received_output_hash: z
        .string("must be sha256: and 64 hex digits")
        .regex(/^sha256:[0-9a-fA-F]{64}$/, "must be sha256: and 64 hex digits")
        .meta({ examples: [`sha256:${"a7".repeat(32)}`] })
        .transform((hash) => hash.toLowerCase())
        .describe("SHA-256 of the full text you received, UTF-8, without a trailing newline."),
    },
    "must be a JSON object",
  )
  .meta({ id: "DisputeRequest" });

/** Its answer; the same keys whether or not a dispute was opened, and `note` where there is something to say. */
const disputeSchema = z
  .object({
    job_id: jobId,
    dispute_opened: z.boolean().meta({ description: "False when the hashes are equal: there is nothing to dispute." }),
    your_hash: contentHash,
    worker_hash: contentHash,
    dispute_tx: txHash
      .nullable()
      .meta({ description: "Transaction that opened the dispute; null if none was opened." }),
    arbitration_window_hours: z.int().meta({ description: "Hours in which the arbiters rule.", examples: [24] }),
    note: z.string().optional().meta({ description: "What probably made the hashes differ, where that can be seen." }),
  })
  .meta({ id: "Dispute", description: "What came of a dispute." });

/** The line ends that `echo` and editors add to a text before it is hashed. */
const LINE_ENDS = ["\n", "\r\n"];

/** A note for the client, if its hash is that of the kept answer with a line break at the end; null otherwise. */
function noteOf(receivedHash: Hex, kept: string | null): string | null {
  const hashOf = (text: string): Hex => `0x${createHash("sha256").update(text).digest("hex")}`;
  if (kept === null || !LINE_ENDS.some((end) => hashOf(kept + end) === receivedHash)) return null;
  return (
    "your_hash is that of the worker's text with a line break at its end, which tools such as echo and text editors add: you have " +
    "probably received the text that was signed, and the arbiters will see that too. Hash the text without it."
  );
}

type DisputeParts = {
  jobReader: Pick<JobReader, "get">;
  desk: Pick<DisputeDesk, "request">;
  kept: Pick<KeptAnswers, "read">;
  times: Pick<JobTimes, "arbitration">;
};

/** The request counts from its arrival, however long its body or the settlement take. */
export const disputeJobRoute = defineRoute({
  method: "post",
  path: "/v1/jobs/{job_id}/dispute",
  operationId: "disputeJob",
  tag: "Jobs",
  summary: "Dispute an answer",
  description:
    "Compares the hash of what you received with the one the worker signed. Different: the job is `disputed`, and arbiters " +
    "rule within 24 hours. Send it within 60 seconds of the final token. Before the settlement the request waits up to 30 " +
    "seconds, then answers 409 `job_not_settled`; repeated, it counts from its first arrival.",
  request: { params: jobParams, body: disputeBodySchema },
  response: { description: "Opened, or not needed.", schema: disputeSchema, headers: JOB },
  errors: [
    "job_not_found",
    "job_not_settled",
    "dispute_already_open",
    "conflict",
    "dispute_window_expired",
    "unprocessable",
  ],
  aboutJob: true,
  handler:
    ({ jobReader, desk, kept, times }: DisputeParts) =>
    async ({ client: { wallet }, params, body, request }, response) => {
      const receivedHash = fromProofHash(body.received_output_hash) as Hex;
      const { id, job, stored, row } = await jobReader.get(params["job_id"] ?? "", wallet);
      setJobHeaders(response, job);
      const result = await desk.request({ jobId: id, wallet, stored, row }, receivedHash, request.arrivedAt);
      const isOpened = result.kind === "opened" && stored !== null;
      // The dispute is open, with a note or without.
      const answer = isOpened ? await kept.read(stored, untilClosed(response)).catch(() => null) : null;
      const note = noteOf(receivedHash, answer?.text ?? null);
      const after = (await jobReader.get(job.id, wallet)).job;
      setJobHeaders(response, after);
      return {
        job_id: job.id,
        dispute_opened: result.kind === "opened",
        your_hash: toProofHash(receivedHash),
        worker_hash: toProofHash(result.workerHash),
        dispute_tx: result.kind === "opened" ? result.tx : null,
        // Test deployments shorten the window; a client is told whole hours.
        arbitration_window_hours: Math.ceil(times.arbitration / 3_600),
        ...(note !== null && { note }),
      };
    },
});
