import type { Request, RequestHandler, Response } from "express";
import { toApiJobId } from "../../protocol/job-id.ts";
import { lineJson } from "../../shared/line-json.ts";
import { sleep } from "../../shared/sleep.ts";
import { markFailed } from "../../shared/tracing.ts";
import type { Balances } from "../chain/balances.ts";
import type { Directory } from "../chain/directory.ts";
import type { Head } from "../chain/rpc.ts";
import type { StoredJob } from "../db/jobs.ts";
import type { Reader } from "../db/pool.ts";
import { ApiError, unavailable } from "../errors.ts";
import { planJob, type RequestAuthorization } from "../jobs/admission.ts";
import { Answer, SentAnswer } from "../jobs/answer.ts";
import { AUTHORIZATION_HEADER, parseAuthorization, unauthorizable } from "../jobs/authorization.ts";
import { findJob, type IdempotencyParts, type JobRequest, noteHangUp } from "../jobs/idempotency.ts";
import type { CompletedJob, RunningJob } from "../jobs/job.ts";
import { withSettlements } from "../jobs/job-reader.ts";
import type { KeptAnswers } from "../jobs/kept-answers.ts";
import type { RunningJobs } from "../jobs/running-jobs.ts";
import { completionSchema } from "../schemas/completion.ts";
import { type ChatBody, chatRequestSchema, parseChatBody, sizeOf } from "./chat-request.ts";
import {
  ChunkWriter,
  type CompletionBase,
  completionObject,
  statementOf,
  streamAnswer,
  usageOf,
} from "./completion.ts";
import { defineStreamingRoute } from "./define-route.ts";
import { type Bodies, limitByCredits, readChat, takeBody } from "./json-body.ts";
import { JOB, some } from "./openapi/headers.ts";
import { errorResponses } from "./openapi/responses.ts";
import { clientOf, setServiceHeaders, untilClosed } from "./request.ts";

/** A reply waits this long for the hash of its settlement's transaction, never for its mining. */
const SETTLEMENT_HASH_MS = 1_000;

export type ChatDependencies = IdempotencyParts & {
  jobs: { head: Pick<Head, "isSilent">; balances: Pick<Balances, "current" | "known"> };
  directory: Pick<Directory, "model" | "models">;
  kept: Pick<KeptAnswers, "read">;
  /** The gateway's tables. */
  reader: Reader;
  docsUrl: string;
  runs: Pick<RunningJobs, "connected">;
  /** Once it stops, running jobs are finished and new ones go elsewhere; none is taken before an earlier process's transactions have ended. */
  phase: { readonly stopping: boolean; readonly recovered: boolean };
};

/**
 * The handler of `chatRoute` once the body is read. An `Idempotency-Key` pays for one answer, however often it is sent; so does the job id of an
 * authorization.
 */
export function completeChat(dependencies: ChatDependencies): RequestHandler {
  return async (request, response) => {
    const body = takeBody(request, parseChatBody);
    // While the job runs, memory is counted for the parsed request only.
    request.kept.keep(sizeOf(body.request));
    const authorization = authorizationOf(request);
    const plan = planJob(dependencies.directory, clientOf(request).wallet, body, authorization);
    if (dependencies.phase.stopping) {
      throw unavailable("This gateway is stopping; retry the request.", 1);
    }
    if (!dependencies.phase.recovered) {
      throw unavailable("This gateway has just started and takes no jobs yet; retry soon.", 5);
    }
    if (dependencies.jobs.head.isSilent) {
      throw unavailable("The settlement chain does not answer; retry in a few seconds.", 5);
    }
    const key = idempotencyKey(request);
    if (authorization !== null && key !== null) {
      throw unauthorizable("its job id makes the request repeatable; leave out the Idempotency-Key");
    }
    const { bodyHash, receivedAt, kept } = request;
    const jobRequest = { plan, bodyHash, idempotencyKey: key, receivedAt, kept };
    const exchange = { jobRequest, body, response };
    const answering = await findJob(dependencies, jobRequest);
    if (answering.kind === "answered") return replayAnswer(dependencies, answering.job, body, response);
    if (answering.kind === "joined") return serve(dependencies, answering.run, exchange);
    let run: RunningJob | undefined;
    try {
      await answering.answer((job) => {
        run = job;
        return serve(dependencies, job, exchange);
      });
    } catch (error) {
      if (!response.headersSent) {
        const creditsRemaining = dependencies.jobs.balances.known(plan.wallet)?.free;
        setServiceHeaders(response, { creditsRemaining, worker: run?.worker ?? null });
      }
      throw error;
    }
  };
}

function authorizationOf(request: Request): RequestAuthorization | null {
  const header = request.headers[AUTHORIZATION_HEADER];
  if (header === undefined) return null;
  return { signed: parseAuthorization(String(header)), bodyHash: request.bodyHash };
}

const KEY_FORMAT = /^[\x21-\x7e]{1,255}$/;

function idempotencyKey(request: Request): string | null {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key !== "string" || !KEY_FORMAT.test(key)) {
    throw new ApiError("invalid_request", "Idempotency-Key: must be 1 to 255 visible ASCII characters", {
      param: "Idempotency-Key",
    });
  }
  return key;
}

/** A request, its body, and the response that gets its answer. */
type ChatExchange = { jobRequest: JobRequest; body: ChatBody; response: Response };

/** Answers a client from a job of this process; several can follow one job. */
async function serve(
  dependencies: ChatDependencies,
  run: RunningJob,
  { jobRequest, body, response }: ChatExchange,
): Promise<void> {
  const { jobs, runs } = dependencies;
  const { jobId, wallet } = run.input;
  const sent = new SentAnswer();
  run.clientCame();
  const gone = Promise.withResolvers<void>();
  runs.connected(gone.promise);
  const left = () => {
    // A refusal and an empty answer are whole without any text; of a stream whose reasoning is not shown, the headers alone can have been sent.
    const isServed =
      response.writableEnded || (response.headersSent && (!body.stream || run.input.showReasoning || sent.bytes > 0));
    gone.resolve(run.clientLeft(sent.closed(response.writableFinished), isServed));
    if (!isServed) noteHangUp(jobs, jobRequest, run);
  };
  if (response.destroyed) left();
  else response.once("close", left);
  const lock = await run.locked;
  const creditsRemaining = jobs.balances.known(wallet)?.free ?? lock.free;
  setServiceHeaders(response, { jobId: toApiJobId(jobId), escrowTx: lock.escrowTx, creditsRemaining });
  const base = { jobId: toApiJobId(jobId), model: body.model, created: lock.lockedAt };
  if (body.stream) await stream(dependencies, run, base, { body, response, sent });
  else await reply(dependencies, run, base, { body, response, sent });
}

type Receiver = Pick<ChatExchange, "body" | "response"> & { sent: SentAnswer };

async function reply(
  { jobs }: ChatDependencies,
  run: RunningJob,
  base: CompletionBase,
  { response, sent }: Receiver,
): Promise<void> {
  const job = await run.completed;
  const settlementTx = await settlementHash(job);
  run.input.timings.end("settlement");
  setServiceHeaders(response, {
    worker: job.worker,
    settlementTx,
    // Unknown again after a reorganisation: the header keeps what the lock left.
    creditsRemaining: jobs.balances.known(run.input.wallet)?.free,
  });
  const { finish_reason } = job.completed;
  response.setHeader("server-timing", run.input.timings.header());
  const content = run.answer.text;
  sent.piece({ kind: "content", text: content });
  sent.end();
  const message = { content, ...(run.input.showReasoning && { reasoning: run.answer.reasoning }) };
  response.json(completionObject(base, message, finish_reason, usage(job), statementOf(job.worker, job.completed)));
}

async function stream(
  dependencies: ChatDependencies,
  run: RunningJob,
  base: CompletionBase,
  { body, response, sent }: Receiver,
): Promise<void> {
  setServiceHeaders(response, { worker: await run.firstToken });
  response.setHeader("server-timing", run.input.timings.header());
  const writer = new ChunkWriter(base);
  await streamAnswer(response, run.answer, {
    piece: (piece) => {
      if (piece.kind === "reasoning" && !run.input.showReasoning) return "";
      sent.piece(piece);
      return writer.piece(piece);
    },
    end: async () => {
      const job = await run.completed;
      sent.end();
      const usageChunk = body.includeUsage ? writer.usage(usage(job)) : "";
      const last = writer.finish(job.completed.finish_reason, statementOf(job.worker, job.completed));
      return `${last}${usageChunk}data: [DONE]\n\n`;
    },
    error: (error) => {
      const apiError = apiErrorOf(error);
      markFailed(apiError.code);
      return `data: ${lineJson(apiError.body(dependencies.docsUrl))}\n\n`;
    },
    trailers: async () => {
      const hash = await settlementHash(await run.completed);
      return trailersOf(hash, dependencies.jobs.balances.known(run.input.wallet)?.free);
    },
  });
}

/** A stream's headers are those of its lock; what is known at its end follows. Unknown values are left out. */
function trailersOf(settlementTx: string | null, creditsRemaining: number | undefined): Record<string, string> {
  return {
    ...(settlementTx !== null && { "x-service-settlement-tx": settlementTx }),
    ...(creditsRemaining !== undefined && { "x-service-credits-remaining": String(creditsRemaining) }),
  };
}

function usage({ completed, settling }: CompletedJob) {
  return usageOf(completed.completion, settling.countedTokens);
}

function settlementHash(job: CompletedJob): Promise<string | null> {
  // A settlement that is not sent is no fault of the answer: the job is failed, or a restart takes it up.
  return Promise.race([job.settling.signed.catch(() => null), sleep(SETTLEMENT_HASH_MS).then(() => null)]);
}

function apiErrorOf(error: unknown): ApiError {
  return error instanceof ApiError
    ? error
    : new ApiError("internal_error", "The answer broke off on our side; nothing is charged for it.", { cause: error });
}

/** Sends an earlier answer again, plain or streamed as this request asks, with the headers of its job. Its reasoning was not kept. */
async function replayAnswer(
  { jobs, kept, reader }: Pick<ChatDependencies, "jobs" | "kept" | "reader">,
  stored: StoredJob,
  body: ChatBody,
  response: Response,
): Promise<void> {
  const [job = stored] = await withSettlements(reader, [stored]);
  const jobId = toApiJobId(job.jobId);
  const answer = await kept.read(job, untilClosed(response));
  if (answer === null) {
    throw new ApiError(
      "conflict",
      `This request was answered as ${jobId}, and the answer is no longer stored; a new key or job id gets another one.`,
      {
        details: { job_id: jobId },
      },
    );
  }
  setServiceHeaders(response, {
    jobId,
    escrowTx: job.escrowTx,
    settlementTx: job.settlementTx,
    worker: job.worker,
    creditsRemaining: (await jobs.balances.current(job.wallet)).free,
  });
  response.setHeader("idempotent-replayed", "true");
  const base = { jobId, model: job.model, created: job.lockedAt ?? 0 };
  const usage = usageOf(answer.signed.completion, answer.billedTokens);
  if (!body.stream) {
    response.json(
      completionObject(
        base,
        { content: answer.text },
        answer.finishReason,
        usage,
        statementOf(answer.worker, answer.signed),
      ),
    );
    return;
  }
  const writer = new ChunkWriter(base);
  const text = new Answer();
  if (answer.text !== "") text.append(answer.text);
  text.end();
  await streamAnswer(response, text, {
    piece: (piece) => writer.piece(piece),
    end: async () =>
      `${writer.finish(answer.finishReason, statementOf(answer.worker, answer.signed))}${body.includeUsage ? writer.usage(usage) : ""}data: [DONE]\n\n`,
    error: () => "",
    trailers: async () => trailersOf(job.settlementTx, jobs.balances.known(job.wallet)?.free),
  });
}

// ---------------------------------------------------------------- the endpoint

const SSE = `data: {"id":"chatcmpl-job_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e","object":"chat.completion.chunk","created":1767225600,"model":"qwen3-8b","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}

data: {"id":"chatcmpl-job_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e","object":"chat.completion.chunk","created":1767225600,"model":"qwen3-8b","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`;

const idempotencyKeyParameter = {
  name: "Idempotency-Key",
  in: "header" as const,
  required: false,
  description:
    "Pay once: a repetition with the same key and the same body within the retention time gets the same job and the same " +
    "answer. Bodies are the same if their JSON is, whatever its white space and the order of its fields. With another body: 409 `conflict`. " +
    "Errors are not kept.",
  schema: { type: "string" as const, minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
};

const authorizationParameter = {
  name: "x-service-authorization",
  in: "header" as const,
  required: false,
  description:
    "Required for a wallet with an authorization key: that key's EIP-712 signature `Authorization` of this one job. Wallet, operator, the " +
    "model's catalog number and the SHA-256 of the body's bytes follow from the request. `job_id`: a UUIDv7 made " +
    "within 60 seconds of now, good for one job. `max_tokens`: their price is locked; at least what the body asks for. `max_credits`: at " +
    "least that price. `expires_at`: Unix seconds, by default 50 to 540 ahead. A repetition with the same header and body gets the same answer; " +
    "another use of the job id is 409 `conflict`. Not together with `Idempotency-Key`.",
  schema: {
    type: "string" as const,
    pattern:
      "^job_id=job_[0-9a-f]{32};max_tokens=[0-9]+;max_credits=[0-9]+;expires_at=[0-9]+;signature=0x[0-9a-fA-F]{130}$",
  },
};

export const chatRoute = defineStreamingRoute({
  method: "post",
  path: "/v1/chat/completions",
  operationId: "createChatCompletion",
  tag: "Chat",
  summary: "Generate a reply",
  description:
    "Locks the price in escrow, dispatches the request to a worker, and settles on chain. Fields that are not offered and would change the " +
    "answer are refused by name. Fields without a meaning for the answer (`user`, `metadata`, `store`, …) are ignored.",
  parameters: [idempotencyKeyParameter, authorizationParameter],
  requestBody: {
    required: true,
    description:
      "At most 4 MiB, not compressed; at most 4,096 messages, and 1,000 entries in any other list. A body of more than 64 KiB or " +
      "1,000 values is taken only from a wallet that can pay for a request: 402 otherwise.",
    content: {
      "application/json": {
        schema: chatRequestSchema,
        examples: {
          plain: { value: { model: "qwen3-8b", messages: [{ role: "user", content: "Say hello." }] } },
          streamed: {
            value: { model: "qwen3-8b", messages: [{ role: "user", content: "Say hello." }], stream: true },
          },
        },
      },
    },
  },
  responses: {
    "200": {
      description:
        "The answer. With `stream`, events: the first chunk has `role` and content, the last one an empty `delta` and the " +
        "`finish_reason`, then `[DONE]`. Comment lines (`: keep-alive`) come in silence. A stream that breaks ends with " +
        '`data: {"error": …}` instead of `[DONE]`, and nothing is charged. The trailer `x-service-settlement-tx` follows.',
      headers: { ...JOB, ...some("Server-Timing", "Idempotent-Replayed") },
      content: {
        "application/json": { schema: completionSchema },
        "text/event-stream": {
          schema: {
            type: "string",
            description: "Server-Sent Events; each `data` is a chunk.",
            contentMediaType: "application/json",
            contentSchema: { $ref: "#/components/schemas/ChatCompletionChunk" },
          },
          example: SSE,
        },
      },
    },
    ...errorResponses(
      [
        "model_not_found",
        "context_length_exceeded",
        "insufficient_credits",
        "daily_limit_reached",
        "spending_frozen",
        "operator_not_chosen",
        "authorization_required",
        "authorization_invalid",
        "conflict",
        "request_failed_at_model",
        "no_workers_available",
        "job_timeout",
        "answer_withheld",
      ],
      true,
    ),
  },
  handlers: ({ chat, bodies, balances }: { chat: ChatDependencies; bodies: Bodies; balances: Balances }) => [
    readChat(bodies, limitByCredits(chat.directory, balances)),
    completeChat(chat),
  ],
});
