/**
 * The protocol between a gateway and a worker. The gateway POSTs a dispatch to `{endpoint}/jobs`; the worker refuses with a JSON error
 * (4xx/5xx, before anything is signed) or answers 200 `text/event-stream` with, in this order:
 *
 *   event: acknowledged   {signature}                            once, before the first token
 *   event: begun          {}                                     at most once, where the first tokens cannot be sent yet
 *   event: delta          {content}                              zero or more, never empty
 *   event: reasoning      {content}                              zero or more, never empty, between the others
 *   event: completed      {completion, signature, finish_reason} once, last
 *   event: error          {code, message}                        instead of `completed`; nothing is owed
 *
 * Newlines are held back until text follows: an answer never ends with them. `begun` says that the model is at work all the same.
 *
 * Reasoning is what the model writes beside its answer. The hash, `completionTokens` and `textBytes` are those of the `delta`s alone,
 * `reasoningTokens` those of the reasoning. The request's `max_tokens` limits both together, as model servers count it.
 *
 * An answer may be empty: no `delta`, and a `completed` whose hash is that of nothing. A worker whose answer would not be finished in time ends it
 * `finishMargin` seconds before its deadline with `length`.
 *
 * The dispatch's assignment and signature are in the header `x-assignment` too: a worker checks them before it reads the body.
 *
 * Silence is filled with comments. After a lost connection, POST `{endpoint}/jobs/output` with the same assignment and
 * signature (`outputRequestSchema`) returns `{text, completion, signature, finish_reason, acknowledgement}` of a finished job; 409
 * `not_finished` while it runs (ask again), 404 `no_output` if there is none.
 *
 * POST `{endpoint}/jobs/end` with the same body ends the running job's answer where it is, for a client that has left: 204, and the stream ends with
 * `completed` and the reason `length`. 409 `not_running` if the job does not run, or was not acknowledged yet.
 *
 * POST `{endpoint}/trial` with `{model, access}` returns `{text}`: the model's answer to the test prompt `TRIAL`. It is unpaid and belongs to no job.
 * A gateway sends it after an empty answer, which its client can have brought about.
 *
 * An acknowledged job's Assignment and its signature are public: they are the calldata of `acknowledge`. So an output request
 * carries `access`, a signature made for this request alone. Without it, everybody who reads the chain could read the client's answer.
 */
import type { Address, Hex } from "viem";
import { z } from "zod";

const hex = (bytes: number) =>
  z.custom<Hex>(
    (v) => typeof v === "string" && v.length === 2 + 2 * bytes && /^0x[0-9a-f]+$/.test(v),
    `not ${bytes} bytes of hex`,
  );
const address = z.custom<Address>((v) => typeof v === "string" && /^0x[0-9a-fA-F]{40}$/.test(v), "not an address");
const uint32 = z.number().int().min(0).max(0xffffffff);

/** Characters of a name: a model's, a code's, an ability's. */
const MOST_NAME = 200;
/** Places of each kind that a worker can announce: what `WORKER_CONCURRENCY` takes at most. */
const MOST_PLACES = 10_000;
/** Characters of a sentence that one side tells the other. */
export const MOST_WORDS = 1_000;
/** Characters of an answer, and of all the reasoning beside it: no worker sends more bytes, and no gateway takes them. */
const MOST_TEXT = 8 * 1024 * 1024;

export const messageSchema = z.object({ role: z.enum(["system", "user", "assistant"]), content: z.string() });

/**
 * Abilities that only some model servers have. A worker declares them for each model; a gateway gives a job only to workers that have those
 * it needs.
 */
export const ABILITIES = ["json_object", "json_schema", "reasoning"] as const;
export type Ability = (typeof ABILITIES)[number];
/** Declared beside `reasoning` of a model that cannot be told not to reason: there every request counts as one that asks for it. */
export const ALWAYS_REASONING = "always_reasoning";
/** The abilities that a worker can declare for a model. */
export const DECLARATIONS = [...ABILITIES, ALWAYS_REASONING] as const;
export type Declaration = (typeof DECLARATIONS)[number];

/** A form that the answer must have. What a schema may hold is for the model server to say. */
const responseFormatSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("json_object") }),
  z.object({ type: z.literal("json_schema"), json_schema: z.record(z.string(), z.unknown()) }),
]);

/** A 64-bit integer: a number, or in digits where a double could not hold it. */
const int64 = z.union([z.int(), z.string().regex(/^-?[1-9]\d{15,18}$/, "not the digits of a large 64-bit integer")]);

/** The chat request as a backend gets it: validated by the gateway, limits resolved. */
const chatRequestSchema = z.object({
  messages: z.array(messageSchema).min(1),
  max_tokens: z.number().int().min(1),
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  stop: z.array(z.string()).optional(),
  frequency_penalty: z.number().optional(),
  presence_penalty: z.number().optional(),
  top_k: z.number().int().optional(),
  min_p: z.number().optional(),
  repetition_penalty: z.number().optional(),
  seed: int64.optional(),
  response_format: responseFormatSchema.optional(),
  reasoning_effort: z.string().max(20).optional(),
});
export type ChatRequest = z.infer<typeof chatRequestSchema>;

/** A chat request as JSON for a model server: a seed is a number there, with all of its digits. */
export function chatRequestJson({
  seed,
  ...fields
}: Pick<ChatRequest, "messages" | "seed"> & Record<string, unknown>): string {
  const json = JSON.stringify(fields);
  return seed === undefined ? json : `${json.slice(0, -1)},"seed":${seed}}`;
}

/** Whether a request asks for reasoning. For any other, the model server is told to switch it off. */
export const asksReasoning = ({ reasoning_effort }: Pick<ChatRequest, "reasoning_effort">): boolean =>
  reasoning_effort !== undefined && reasoning_effort !== "none";

/** The abilities that a worker must have declared to be given the request. */
export function needsOf({ response_format, reasoning_effort }: Omit<ChatRequest, "max_tokens">): Ability[] {
  return [
    ...(response_format === undefined ? [] : [response_format.type]),
    ...(reasoning_effort === undefined ? [] : ["reasoning" as const]),
  ];
}

export const assignmentSchema = z.object({
  jobId: hex(16),
  worker: address,
  attempt: z.number().int().min(1).max(255),
  acknowledgeBy: z.number().int().positive(),
});

export const dispatchSchema = z.object({
  assignment: assignmentSchema,
  /** The gateway's EIP-712 signature of the assignment, 65 bytes. */
  signature: hex(65),
  /** Model id as listed, e.g. "qwen3-8b". */
  model: z.string().min(1).max(MOST_NAME),
  request: chatRequestSchema,
});
export type Dispatch = z.infer<typeof dispatchSchema>;

/** Header of a dispatch: a `Ticket` as JSON. Anyone can reach a worker; only what a gateway signed may send it a large body. */
export const ASSIGNMENT_HEADER = "x-assignment";
export const ticketSchema = dispatchSchema.pick({ assignment: true, signature: true });
export type Ticket = z.infer<typeof ticketSchema>;

export const completionSchema = z.object({
  jobId: hex(16),
  proofHash: hex(32),
  promptTokens: uint32,
  completionTokens: uint32,
  reasoningTokens: uint32,
  textBytes: uint32,
  completedAt: z
    .number()
    .int()
    .positive()
    .max(2 ** 40 - 1),
});

/** `content_filter`: the model server ended the answer; what was delivered until then is the answer. */
const FINISH_REASONS = ["stop", "length", "content_filter"] as const;
export const finishReasonSchema = z.enum(FINISH_REASONS);
export type FinishReason = z.infer<typeof finishReasonSchema>;

export const acknowledgedEvent = z.object({ signature: hex(65) });
/** The data of the events `delta` and `reasoning`. */
export const deltaEvent = z.object({ content: z.string().min(1).max(MOST_TEXT) });
export const completedEvent = z.object({
  completion: completionSchema,
  signature: hex(65),
  finish_reason: finishReasonSchema,
});
export const errorEvent = z.object({ code: z.string().max(MOST_NAME), message: z.string().max(MOST_WORDS) });

/** Proof that the asker holds the gateway's key now; `expiresAt` in Unix seconds, at most `OUTPUT_ACCESS_SECONDS` ahead. */
const outputAccessSchema = z.object({ expiresAt: z.number().int().positive(), signature: hex(65) });
/** The message that `access.signature` signs (EIP-712, domain of the escrow). */
export const outputAccessTypes = {
  OutputAccess: [
    { name: "jobId", type: "bytes16" },
    { name: "worker", type: "address" },
    { name: "expiresAt", type: "uint40" },
  ],
} as const;
export const OUTPUT_ACCESS_SECONDS = 300;
/** So long a worker keeps an answer that it proved by itself, after the job's end: its gateway may come back for it. */
export const KEEP_PROVEN_SECONDS = 600;

/**
 * A job may wait at its worker for this share of the time that its offer is good for. The rest is for its first token and its acknowledgement.
 * Gateways count those waiting places that become free by then, and a worker that has no room by then refuses the job as `busy`.
 */
export const QUEUED_SHARE = 0.5;

/** Seconds before a job's deadline at which a worker ends an answer that is not finished: enough to sign it and have it seen. */
export const finishMargin = (completionSeconds: number): number => Math.min(8, completionSeconds / 8);
/** In these last seconds before its deadline an answer may end with `length` below `max_tokens`. */
export const lengthGrace = (completionSeconds: number): number => Math.min(15, completionSeconds / 4);

/**
 * Tokens by which an answer may end with `length` before prompt and answer fill the model's window: model servers keep some for themselves, and a
 * worker leaves a margin where its server does not tell its count of the prompt.
 */
export const contextMargin = (window: number): number => 64 + Math.ceil(window / 64);

/** UTF-8 bytes of a token of an answer, or more: no tokenizer in use has longer ones. */
const BYTES_PER_TOKEN = 1_024;
const LEAST_ANSWER_BYTES = 64 * 1024;
const MOST_ANSWER_BYTES = 8 * 1024 * 1024;
/** Pieces of a token: more than one for each of its characters. */
const PIECES_PER_TOKEN = 16;
const LEAST_PIECES = 4_096;

/**
 * The most that an answer of `maxTokens` tokens may have: UTF-8 bytes of its text and its reasoning together, and events that they come in. What is
 * longer is a broken model server's: the worker ends the job before it sends more, since a gateway takes that for misconduct.
 * @example answerBounds(500) // { bytes: 512_000, pieces: 8_000 }
 */
export const answerBounds = (maxTokens: number): { bytes: number; pieces: number } => ({
  bytes: Math.min(MOST_ANSWER_BYTES, Math.max(LEAST_ANSWER_BYTES, maxTokens * BYTES_PER_TOKEN)),
  pieces: Math.max(LEAST_PIECES, maxTokens * PIECES_PER_TOKEN),
});

/** Body of an output request. */
export const outputRequestSchema = dispatchSchema
  .pick({ assignment: true, signature: true })
  .extend({ access: outputAccessSchema });
export type OutputRequest = z.infer<typeof outputRequestSchema>;

/** Body of an answered output request. `acknowledgement`: the attempt in which the worker took the job, and its signature of that. */
export const outputSchema = completedEvent.extend({
  text: z.string().max(MOST_TEXT),
  acknowledgement: z.object({ attempt: assignmentSchema.shape.attempt, signature: hex(65) }),
});
export type WorkerOutput = z.infer<typeof outputSchema>;

/** The gateway's test prompt, the same in every trial. A healthy model answers it with some text. */
export const TRIAL = {
  messages: [{ role: "user", content: "Count from one to five." }],
  max_tokens: 16,
  temperature: 0,
} as const satisfies Omit<ChatRequest, "messages"> & { messages: readonly ChatRequest["messages"][number][] };
/** The `access` of a trial is signed for this id, which no job has. */
export const NO_JOB: Hex = `0x${"00".repeat(16)}`;
export const trialRequestSchema = z.object({ model: dispatchSchema.shape.model, access: outputAccessSchema });
export type TrialRequest = z.infer<typeof trialRequestSchema>;
export const trialSchema = z.object({ text: z.string().max(MOST_TEXT) });

/** Body of a refusal and codes that workers use. */
export const refusalSchema = z.object({ error: errorEvent });
export const RefusalCode = {
  Busy: "busy", // 503: concurrency and queue are full, or no room within `QUEUED_SHARE` of the offer's time
  Draining: "draining", // 503: the worker is stopping
  UnknownModel: "unknown_model", // 404: not hosted here
  NotAssigned: "not_assigned", // 403: assignment for another worker, bad signature, expired, no access to the output
  NotLocked: "not_locked", // 409: the chain shows no open job
  AlreadyTaken: "already_taken", // 409: this worker ran or runs the job
  BadRequest: "bad_request", // 400; also a lock for another model or for fewer credits than max_tokens can cost
  NotRunning: "not_running", // 409: a job that does not run, or was not acknowledged yet, cannot be ended
  NotFinished: "not_finished", // 409: the output was asked for while the job runs
  NoOutput: "no_output", // 404: never run here, ended without an answer, or erased after settlement
  BackendFailed: "backend_failed", // 502: the model server failed before anything was signed
  RequestRefused: "request_refused", // 400: the model server does not take this client's request
  ContextExceeded: "context_length_exceeded", // 400: the conversation leaves no room for an answer, by the model server's own count
  ChainUnavailable: "chain_unavailable", // 503: the worker cannot check the lock now
} as const;

/** Codes of the `error` event: the job ends without a Completion. */
export const JobErrorCode = {
  BackendFailed: "backend_failed", // the model server failed or broke off without a finish reason
  Timeout: "job_timeout", // the completion window closed first
  RequestRefused: "request_refused", // the model server does not take this client's request, and said so late
  ContextExceeded: "context_length_exceeded", // the conversation leaves no room for an answer, and the model server said so late
  TooLong: "answer_too_long", // more text than max_tokens can be
  Superseded: "superseded", // the chain shows that the job ended or went to another worker
  Stopping: "stopping", // the worker was stopped
  Internal: "internal_error",
} as const;

/** Body of `GET {endpoint}/healthz`: what a worker says of itself. */
export const healthSchema = z.object({
  /** "draining": it finishes the jobs it has, and takes no others. */
  status: z.enum(["ok", "draining"]),
  /** Its signing key's address: an endpoint that changed hands answers as somebody else. */
  worker: z.string().max(100),
  /** Catalog ids of what it hosts. */
  models: z.array(z.string().max(MOST_NAME)),
  /** The abilities of the model server beyond text, by catalog id. */
  abilities: z.record(z.string().max(MOST_NAME), z.array(z.string().max(MOST_NAME))),
  /** True: a text generator answers, and no model (`--backend builtin`). */
  demo: z.boolean(),
  /** Jobs that run. */
  in_flight: z.number().int().nonnegative().max(MOST_PLACES),
  /** Jobs that wait for one of those to end. */
  queued: z.number().int().nonnegative().max(MOST_PLACES),
  /** Jobs it runs at once: what its operator configured, or fewer, as far as its model server bore them. */
  capacity: z.number().int().positive().max(MOST_PLACES),
  /** Jobs that may wait; beyond that it refuses them. */
  queue_capacity: z.number().int().nonnegative().max(MOST_PLACES),
  /**
   * How each model's prompts are counted before the model server gets them, by catalog id: by the `server` itself, or by an `estimate` of the
   * worker's. `window`: tokens that the server holds; null where it does not tell.
   */
  counting: z.record(
    z.string().max(MOST_NAME),
    z.object({ by: z.enum(["server", "estimate"]), window: z.number().int().positive().nullable() }),
  ),
  /** Answers that wait for the end of their jobs on the chain. */
  unsettled: z.number().int().nonnegative(),
});
export type Health = z.infer<typeof healthSchema>;
/** How the prompts of one model are counted at a worker. */
export type Counting = Health["counting"][string];

/**
 * As much of it as a gateway needs. Workers are other people's, of other versions: what is not needed may be missing or wrong, and a status
 * of which a gateway has never heard is one that takes no jobs.
 */
export const probeSchema = healthSchema.pick({ worker: true }).extend({
  status: z.string().max(100),
  in_flight: healthSchema.shape.in_flight.optional().catch(undefined),
  queued: healthSchema.shape.queued.optional().catch(undefined),
  capacity: healthSchema.shape.capacity.optional().catch(undefined),
  queue_capacity: healthSchema.shape.queue_capacity.optional().catch(undefined),
  abilities: healthSchema.shape.abilities.optional().catch(undefined),
  demo: healthSchema.shape.demo.catch(false),
  counting: healthSchema.shape.counting.optional().catch(undefined),
});
export type ProbedHealth = z.infer<typeof probeSchema>;
