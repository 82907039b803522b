/** Sends answers to clients: as the completion object, or as its chunks in Server-Sent Events. */
import { once } from "node:events";
import type { Response } from "express";
import type { Address, Hex } from "viem";
import type { z } from "zod";
import type { FinishReason } from "../../protocol/dispatch.ts";
import type { Completion } from "../../protocol/messages.ts";
import { lineJson } from "../../shared/line-json.ts";
import type { Answer, Piece } from "../jobs/answer.ts";
import { reasoningDetails } from "../jobs/job-reader.ts";
import type { usageSchema } from "../schemas/resources.ts";

export type Usage = z.infer<typeof usageSchema>;

/** The fields that plain and streamed replies of one job share. `created` in Unix seconds. */
export type CompletionBase = { jobId: string; model: string; created: number };

/** The usage that a reply reports, from the answer's Completion and its billed tokens. */
export function usageOf(
  { promptTokens, completionTokens }: Pick<Completion, "promptTokens" | "completionTokens">,
  billedTokens: number,
): Usage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: billedTokens,
    total_tokens: promptTokens + billedTokens,
    ...reasoningDetails({ billedTokens, completionTokens }),
  };
}

/**
 * The worker's own statement of the answer: the additive field `service` of a plain reply and of a stream's last
 * choice. `completion` is the EIP-712 message exactly as it was signed (domain: `escrowDomain`). A client can verify
 * the signature, and open a dispute with it, without asking anybody. Its token counts are the worker's; `usage` is what
 * was billed.
 */
export type SignedStatement = { worker_address: Address; completion: Completion; signature: Hex };

export function statementOf(worker: Address, signed: { completion: Completion; signature: Hex }): SignedStatement {
  return { worker_address: worker, completion: signed.completion, signature: signed.signature };
}

/** The chat completion object of the specification, with the worker's statement. `reasoning` where it was asked for. */
export function completionObject(
  base: CompletionBase,
  { content, reasoning }: { content: string; reasoning?: string },
  finishReason: FinishReason,
  usage: Usage,
  service: SignedStatement,
) {
  return {
    id: `chatcmpl-${base.jobId}`,
    object: "chat.completion",
    created: base.created,
    model: base.model,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content, ...(reasoning && { reasoning_content: reasoning }) },
        finish_reason: finishReason,
      },
    ],
    usage,
    service,
  };
}

/** Writes the chunks of one stream as SSE events, each of them one line to every reader. The constant part is serialised once. */
export class ChunkWriter {
  readonly #head: string;
  #first = true;

  constructor(base: CompletionBase) {
    const fixed = {
      id: `chatcmpl-${base.jobId}`,
      object: "chat.completion.chunk",
      created: base.created,
      model: base.model,
    };
    this.#head = lineJson(fixed).slice(0, -1);
  }

  /** A piece of text or of reasoning. The first one also carries the role, and content. */
  piece({ kind, text }: Piece): string {
    const own = kind === "content" ? { content: text } : { reasoning_content: text };
    const delta = this.#first ? { role: "assistant", content: "", ...own } : own;
    this.#first = false;
    return this.#event([{ index: 0, delta, finish_reason: null }]);
  }

  /** The last choice: an empty delta with the reason, and the worker's statement. An empty answer still gets its first chunk. */
  finish(reason: FinishReason, service: SignedStatement): string {
    const opening = this.#first ? this.piece({ kind: "content", text: "" }) : "";
    const choices = JSON.stringify([{ index: 0, delta: {}, finish_reason: reason }]);
    return `${opening}data: ${this.#head},"choices":${choices},"service":${JSON.stringify(service)}}\n\n`;
  }

  /** `stream_options.include_usage`: a chunk without choices. */
  usage(usage: Usage): string {
    return `data: ${this.#head},"choices":[],"usage":${JSON.stringify(usage)}}\n\n`;
  }

  #event(choices: unknown): string {
    return `data: ${this.#head},"choices":${lineJson(choices)}}\n\n`;
  }
}

/** A comment line goes out after this much silence, so that no proxy takes the stream for dead. */
const SILENCE_MS = 10_000;

type StreamParts = {
  /** SSE text of a piece of the answer; empty where it is not shown. */
  piece: (piece: Piece) => string;
  /** SSE text of a good end, `[DONE]` included. */
  end: () => Promise<string>;
  /** SSE text of a break after the first byte. */
  error: (error: unknown) => string;
  /** HTTP trailers, once the end is out. */
  trailers: () => Promise<Record<string, string>>;
};

/**
 * Sends an answer as Server-Sent Events at the client's own pace. A client that went away ends the sending only: the job
 * runs on by itself. Headers go out with the first text, so that they can be true.
 */
export async function streamAnswer(response: Response, answer: Answer, parts: StreamParts): Promise<void> {
  // Trailers need chunked encoding; Node throws when they are announced to an HTTP/1.0 client.
  const takesTrailers = response.req.httpVersionMajor > 1 || response.req.httpVersionMinor >= 1;
  response.status(200);
  response.setHeader("content-type", "text/event-stream; charset=utf-8");
  response.setHeader("cache-control", "no-cache, no-transform");
  response.setHeader("x-accel-buffering", "no");
  if (takesTrailers) response.setHeader("trailer", "x-service-settlement-tx, x-service-credits-remaining");
  // Text that is already there is sent with the headers, in one packet.
  const { socket } = response;
  socket?.cork();
  process.nextTick(() => socket?.uncork());
  response.flushHeaders();

  const silence = setInterval(() => {
    if (response.writableLength === 0) response.write(": keep-alive\n\n");
  }, SILENCE_MS);
  try {
    for await (const piece of answer.read()) {
      const text = parts.piece(piece);
      if (text === "") continue;
      silence.refresh();
      if (!(await write(response, text))) return;
    }
    if (!(await write(response, await parts.end()))) return;
  } catch (error) {
    // A client SDK takes a plain end of the stream for success; an error event is not to be missed.
    response.end(parts.error(error));
    return;
  } finally {
    clearInterval(silence);
  }
  if (takesTrailers) response.addTrailers(await parts.trailers());
  response.end();
}

/** Writes and waits until the client took it; false once the client is gone. */
export async function write(response: Response, text: string): Promise<boolean> {
  if (response.destroyed) return false;
  if (response.write(text)) return true;
  const waiting = new AbortController();
  try {
    await Promise.race(["drain", "close"].map((event) => once(response, event, { signal: waiting.signal })));
  } finally {
    // Takes the listener of the event that did not come away again.
    waiting.abort();
  }
  return !response.destroyed;
}
