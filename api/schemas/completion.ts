import { z } from "zod";
import { finishReasonSchema } from "../../protocol/dispatch.ts";
import { count, modelId } from "./primitives.ts";
import { statementSchema, usageSchema } from "./resources.ts";

const completionId = z
  .string()
  .regex(/^chatcmpl-job_[0-9a-f]{32}$/)
  .meta({ description: "`chatcmpl-` and the job id.", examples: ["chatcmpl-job_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e"] });
const created = count("Unix seconds of the escrow.", 1_767_225_600);
const finishReason = finishReasonSchema.meta({
  description:
    "`stop`: the answer is complete. `length`: `max_tokens` or the job's time cut it. `content_filter`: the model server did.",
});

const reasoning = z.string().optional().meta({
  description:
    "What the model reasoned, with `reasoning_effort` or of a model with `always_reasoning`. Billed as output, neither hashed nor kept.",
});

/** Body of a plain reply. */
export const completionSchema = z
  .object({
    id: completionId,
    object: z.literal("chat.completion"),
    created,
    model: modelId,
    choices: z
      .array(
        z.object({
          index: z.literal(0),
          message: z.object({ role: z.literal("assistant"), content: z.string(), reasoning_content: reasoning }),
          finish_reason: finishReason,
        }),
      )
      .length(1),
    usage: usageSchema,
    service: statementSchema,
  })
  .meta({ id: "ChatCompletion", description: "A finished answer." });

/** Data of one event of a streamed reply. */
export const chunkSchema = z
  .object({
    id: completionId,
    object: z.literal("chat.completion.chunk"),
    created,
    model: modelId,
    choices: z
      .array(
        z.object({
          index: z.literal(0),
          delta: z.object({
            role: z.literal("assistant").optional(),
            content: z.string().optional(),
            reasoning_content: reasoning,
          }),
          finish_reason: finishReason.nullable(),
        }),
      )
      .max(1)
      .meta({ description: "Empty in the usage chunk only." }),
    service: statementSchema.optional().meta({ description: "The worker's statement, with the `finish_reason`." }),
    usage: usageSchema.optional().meta({ description: "In the last chunk, with `stream_options.include_usage`." }),
  })
  .meta({ id: "ChatCompletionChunk", description: "`data` of one event of a stream; `[DONE]` follows the last one." });
