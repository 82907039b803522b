import { z } from "zod";
import { address, count } from "./primitives.ts";

const bytes32 = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/)
  .meta({ description: "SHA-256 of the answer, as bytes32." });

/** What the worker signed: enough to verify the answer, and to dispute it on chain, without asking anybody. */
export const statementSchema = z
  .object({
    worker_address: address,
    completion: z
      .object({
        jobId: z
          .string()
          .regex(/^0x[0-9a-f]{32}$/)
          .meta({ description: "Job id as bytes16: the hex digits of `job_…`." }),
        proofHash: bytes32,
        promptTokens: count("Tokens of the prompt.", 12),
        completionTokens: count("Output tokens by the worker's count; `usage` is what was billed.", 84),
        completedAt: count("Time of the newest block at the final token, Unix seconds.", 1_767_225_600),
      })
      .meta({ description: "EIP-712 message `Completion`, exactly as it was signed." }),
    signature: z
      .string()
      .regex(/^0x[0-9a-f]+$/)
      .meta({ description: "The worker's EIP-712 signature of `completion`." }),
  })
  .meta({ description: "The worker's signed statement of the answer." });
