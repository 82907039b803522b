import { z } from "zod";
import { ApiError, ERROR_CODES, type ErrorCode } from "../errors.ts";
import { address, count, jobId, modelId, tier, timestamp, txHash } from "./primitives.ts";

const retryAfter = count("Seconds after which a repetition makes sense; also in `Retry-After`.", 5);

/** `error.details` of the codes that have it (specification, "Errors"). */
const ERROR_DETAILS = {
  insufficient_credits: z.object({
    credits_remaining: count("Free credits.", 3),
    credits_required: count("Credits that the request locks.", 40),
    tier,
  }),
  no_workers_available: z.object({ model: modelId, retry_after: retryAfter }),
  job_timeout: z.object({
    job_id: jobId,
    credits_refunded: count("Credits that went back to the balance.", 8),
    refund_tx: txHash.nullable().meta({ description: "Null while the refund is not mined yet." }),
  }),
  answer_withheld: z.object({
    job_id: jobId,
    credits_held: count("Credits that stay in escrow until it is decided.", 8),
    held_until: timestamp,
  }),
  daily_limit_reached: z.object({
    daily_limit: count("Credits a day that the wallet allows.", 500),
    spent_today: count("Credits of it that are spent.", 480),
    credits_required: count("Credits that the request locks.", 40),
  }),
  operator_not_chosen: z.object({
    operator: count("The operator that runs this service.", 1),
    chosen_operator: z.int().nullable().meta({ description: "The one that the wallet has chosen; null for none." }),
  }),
  authorization_invalid: z.object({
    key: address.nullable().meta({ description: "The wallet's authorization key; null if it has none." }),
    signer: address.nullable().meta({ description: "Whose signature it is; null for no signature at all." }),
    message: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: "EIP-712 message `Authorization` that was checked; absent when the contract refused it." }),
  }),
  job_not_settled: z
    .object({ retry_after: retryAfter })
    .optional()
    .meta({ description: "Of a dispute that has waited." }),
  dispute_already_open: z
    .object({ dispute_tx: txHash })
    .optional()
    .meta({ description: "Absent when another service or the wallet opened it." }),
  rate_limited: z.object({ retry_after: retryAfter }),
  service_unavailable: z
    .object({ retry_after: retryAfter.optional(), job_id: jobId.optional() })
    .optional()
    .meta({ description: "Absent when there is nothing to add." }),
} satisfies Partial<Record<ErrorCode, z.ZodType>>;

type Described = { examples?: unknown[]; anyOf?: Described[]; properties?: Record<string, Described> };

/** `error.details` of a code as an example, from the examples of its fields; undefined without any. */
export function detailsExample(code: ErrorCode): Record<string, unknown> | undefined {
  const schema = (ERROR_DETAILS as Partial<Record<ErrorCode, z.ZodType>>)[code];
  if (schema === undefined) return undefined;
  const { properties = {} } = z.toJSONSchema(schema) as Described;
  const example = ({ examples, anyOf }: Described) =>
    examples?.[0] ?? anyOf?.find((one) => one.examples)?.examples?.[0];
  const fields = Object.entries(properties).map(([name, field]) => [
    name,
    example(field) ?? (field.anyOf ? null : undefined),
  ]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

const typeOf = (code: ErrorCode) => new ApiError(code, "").type;

function errorObject(codes: readonly ErrorCode[], details: z.ZodType) {
  // `model_not_found` has another type with another status.
  const types = [...new Set([...codes.map(typeOf), ...(codes.includes("model_not_found") ? ["not_found_error"] : [])])];
  return z.object({
    code: z.enum(codes).meta({ description: "Machine-readable; see `docs`." }),
    message: z.string().meta({ description: "What was wrong, with which value, and what to do." }),
    type: z.enum(types).meta({ description: "Category." }),
    param: z
      .string()
      .nullable()
      .meta({ description: "The field at fault, such as `messages[2].role`; null if there is none." }),
    docs: z.url().meta({ description: "Page about the code." }),
    details,
  });
}

const withDetails = Object.entries(ERROR_DETAILS) as [ErrorCode, z.ZodType][];
const others = ERROR_CODES.filter((code) => !(code in ERROR_DETAILS));

/** Body of every answer that is no success. */
export const errorSchema = z
  .object({
    error: z.union([
      ...withDetails.map(([code, details]) => errorObject([code], details)),
      errorObject(
        others,
        z.record(z.string(), z.unknown()).optional().meta({ description: "By code; usually absent." }),
      ),
    ]),
  })
  .meta({ id: "Error", description: "Body of every answer that is no success." });
