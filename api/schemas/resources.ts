import { z } from "zod";
import { finishReasonSchema } from "../../protocol/dispatch.ts";
import { FAILURE_REASONS } from "../../protocol/job-status.ts";
import { address, contentHash, count, jobId, jobState, modelId, tier, timestamp, txHash, usdg } from "./primitives.ts";

/** The resources of the specification as clients get them. A job that has not settled has all keys, `null` where unknown. */

const completionTokensDetails = z
  .object({ reasoning_tokens: count("Billed tokens of reasoning: those beyond the worker's count of the answer.", 60) })
  .optional()
  .meta({ description: "Only where reasoning was billed." });

export const usageSchema = z.object({
  prompt_tokens: count("Tokens of the prompt, as the worker counts them.", 12),
  completion_tokens: count("Billed output tokens, reasoning included.", 84),
  total_tokens: count("Their sum.", 96),
  completion_tokens_details: completionTokensDetails,
});

/** Fees of small jobs are less than a credit. */
const creditsNumber = (description: string, example: number) =>
  z
    .number()
    .min(0)
    .meta({ description, examples: [example] });

export const REFUND_REASONS = ["timeout", "dispute", "equivocation"] as const;

export const jobSchema = z
  .object({
    id: jobId,
    object: z.literal("job"),
    status: jobState,
    model: modelId,
    tier,
    credits_charged: count("Credits charged; 0 until the job has settled.", 8),
    usdg_value: usdg,
    worker_address: address.nullable(),
    created_at: timestamp,
    completed_at: timestamp.nullable(),
    on_chain: z.object({
      escrow_tx: txHash.nullable().meta({ description: "Transaction that locked the credits." }),
      settlement_tx: txHash.nullable().meta({
        description: "Transaction that pays the worker; while the job is `settling`, the one that is on its way.",
      }),
      escrow_address: address.meta({ description: "The escrow contract." }),
      block_number: z.int().min(0).nullable().meta({ description: "Block of the settlement." }),
      proof_hash: contentHash.nullable().meta({ description: "SHA-256 of the answer, as the worker signed it." }),
    }),
    usage: z.object({
      prompt_tokens: z.int().min(0).nullable(),
      completion_tokens: z.int().min(0).nullable(),
      total_tokens: z.int().min(0).nullable(),
      completion_tokens_details: completionTokensDetails,
    }),
    failure_reason: z
      .enum(FAILURE_REASONS)
      .optional()
      .meta({
        description:
          "Why a failed job has no answer, as the operator states it on chain. `routing_failed`: no worker took it. `worker_failed`: its " +
          "worker gave no whole answer. `hash_mismatch`: the text that arrived is not the one its worker signed. `answer_lost`: the service " +
          "could not deliver the answer. `cancelled`: the client left before there was one. Only of a failed job, seconds after its end.",
      }),
    refund_reason: z
      .enum(REFUND_REASONS)
      .optional()
      .meta({
        description:
          "Why a job is refunded. `timeout`: no worker completed it in time. `dispute`: a dispute ended with its credits going back, and " +
          "`compensation` says what is paid of a charge. `equivocation`: its worker signed two answers. Only of a refunded job.",
      }),
    compensation: z
      .object({
        credits_due: creditsNumber("Credits of the charge that a ruling or an equivocation brings back.", 8),
        credits_paid: creditsNumber("Of those, paid so far. A fraction of a credit waits as claimable tokens.", 5),
        credits_outstanding: creditsNumber(
          "Of those, still to come: the treasury had too little, or its limit of the day was reached. The service has them paid when " +
            "the treasury can, anyone else with `collectDebt` of the escrow; each payment is a `credit.topup`.",
          3,
        ),
      })
      .optional()
      .meta({
        description: "What is given back of the charge, beyond a returned escrow. Only where something is due.",
      }),
  })
  .meta({ id: "Job", description: "One inference request, from its escrow to its settlement." });

export const jobListSchema = z
  .object({
    object: z.literal("list"),
    data: z.array(jobSchema).meta({ description: "Newest first." }),
    has_more: z.boolean(),
    next_cursor: jobId.nullable().meta({ description: "The `before` of the next page; null on the last one." }),
  })
  .meta({ id: "JobList" });

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
        completionTokens: count("Output tokens of the answer by the worker's count; `usage` is what was billed.", 84),
        reasoningTokens: count("Tokens of the reasoning that came with it, by the worker's count.", 0),
        textBytes: count("Length of the answer in UTF-8, bytes.", 336),
        completedAt: count("Time of the newest block at the final token, Unix seconds.", 1_767_225_600),
      })
      .meta({ description: "EIP-712 message `Completion`, exactly as it was signed." }),
    signature: z
      .string()
      .regex(/^0x[0-9a-f]+$/)
      .meta({ description: "The worker's EIP-712 signature of `completion`." }),
  })
  .meta({ id: "SignedStatement", description: "The worker's signed statement of the answer." });

export const jobOutputSchema = z
  .object({
    object: z.literal("job.output"),
    job_id: jobId,
    content: z.string(),
    finish_reason: finishReasonSchema,
    proof_hash: contentHash,
    service: statementSchema,
  })
  .meta({ id: "JobOutput", description: "An answer that was delivered, kept for the retention time." });

export const accountSchema = z
  .object({
    wallet: address,
    credits_remaining: count(
      "Free credits at the chain's newest block: neither spent nor locked in a running job. An answered job counts with its charge, not its " +
        "lock, while its settlement is on its way: seconds, at most 150 s after its lock. Left out until mined: settlements beyond the newest " +
        "50, and jobs that the worker had to prove itself. Never more than what is free once these settlements are mined.",
      9_992,
    ),
    usdg_value: usdg,
    last_topup_at: timestamp.nullable().meta({ description: "Null if credits were never added." }),
    api_key_created_at: timestamp,
  })
  .meta({ id: "Account" });

export const modelSchema = z
  .object({
    id: modelId,
    object: z.literal("model"),
    created: count("Unix seconds.", 1_767_225_600),
    owned_by: z.string().meta({ description: "Originating organisation.", examples: ["qwen"] }),
    service: z.object({
      tier,
      credits_per_request: count("Price of a completion of up to 500 output tokens.", 8),
      credits_per_1k_tokens: count(
        "Price per 1,000 output tokens of longer completions; never less than `credits_per_request`.",
        4,
      ),
      active_workers: count("Workers that host the model now.", 3),
      median_latency_ms: count(
        "Observed median time to the first token; before the first observation, that of a worker's answer to a probe.",
        240,
      ),
      parameters: z.string().meta({ description: "Parameter count.", examples: ["8B"] }),
      context_window: count("Longest context in tokens.", 32_768),
      supported_parameters: z.array(z.string()).meta({
        description:
          "Fields of a chat request that can be had now. Some models have `response_format` (`json_object`), `structured_outputs` " +
          "(`response_format` with a `json_schema`) and `reasoning_effort`, because a worker of theirs declares it.",
        examples: [["max_tokens", "temperature", "response_format", "structured_outputs", "reasoning_effort"]],
      }),
      always_reasoning: z.boolean().meta({
        description:
          "True: all workers of the model reason also where a request does not ask for it, since it cannot be told not to. That reasoning " +
          "is sent, takes its part of `max_tokens`, and is billed.",
      }),
      retires_at: timestamp.nullable().meta({ description: "When governance retires the model; null: never." }),
    }),
  })
  .meta({ id: "Model", description: "A model that at least one worker hosts." });

export const modelListSchema = z
  .object({ object: z.literal("list"), data: z.array(modelSchema) })
  .meta({ id: "ModelList" });
