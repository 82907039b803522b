import { z } from "zod";
import { contentHash, jobId, txHash } from "./primitives.ts";

/** Body of `POST /v1/jobs/{job_id}/dispute`. */
export const disputeBodySchema = z.object(
  {
    received_output_hash: z
      .string("must be sha256: and 64 hex digits")
      .regex(/^sha256:[0-9a-fA-F]{64}$/, "must be sha256: and 64 hex digits")
      .transform((hash) => hash.toLowerCase())
      .meta({
        description: "SHA-256 of the full text you received, UTF-8, without a trailing newline.",
        examples: [`sha256:${"a7".repeat(32)}`],
      }),
  },
  "must be a JSON object",
);

/** Its answer; the same keys whether or not a dispute was opened. */
export const disputeSchema = z
  .object({
    job_id: jobId,
    dispute_opened: z.boolean().meta({ description: "False when the hashes are equal: there is nothing to dispute." }),
    your_hash: contentHash,
    worker_hash: contentHash,
    dispute_tx: txHash
      .nullable()
      .meta({ description: "Transaction that opened the dispute; null if none was opened." }),
    arbitration_window_hours: z.int().meta({ description: "Hours in which the arbiters rule.", examples: [24] }),
  })
  .meta({ description: "What came of a dispute." });
