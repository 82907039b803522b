/** A chat request as any client makes it, with its key against the public API, and what becomes of its charge. */

import { EventSourceParserStream } from "eventsource-parser/stream";
import type { Hex } from "viem";
import { toProofHash } from "../../../../protocol/answer-hash.ts";
import type { Job } from "../../../contract.ts";
import { app } from "../../data/app.ts";

export type Message = { role: "system" | "user" | "assistant"; content: string };

/** The parameters that a visitor can set beside the conversation; one that is not set is left to the model server. */
export type Parameters = {
  max_tokens: number;
  temperature?: number;
  top_p?: number;
  frequency_penalty?: number;
  presence_penalty?: number;
  seed?: number;
  stop?: string[];
};

/** The worker's signed statement, as the last chunk of a stream holds it. */
export type SignedStatement = { worker_address: string; completion: { proofHash: Hex } };

/** The steps of a request, in this order. */
export type Step =
  | { step: "locked"; jobId: string; tx: string | null }
  | { step: "text"; text: string }
  | { step: "signed"; statement: SignedStatement; isSame: boolean }
  | { step: "tokens"; tokens: number }
  | { step: "stopped" }
  | { step: "settled"; job: Job; remaining: number | null };

/** The API refused, or broke off. */
class ChatFailure extends Error {
  override name = "ChatFailure";
}

type Question = { apiKey: string; model: string; messages: readonly Message[]; parameters: Parameters };

/** `stop` ends the answer where it is, `left` everything. */
type Signals = { stop: AbortSignal; left: AbortSignal };

/**
 * Sends a chat request and tells each step, from the lock to the settlement. Throws what the API says against it. After a stop the charge is
 * followed to its end; before the lock is known there is no job to follow.
 */
export async function chat(
  { apiKey, model, messages, parameters }: Question,
  onStep: (step: Step) => void,
  { stop, left }: Signals,
): Promise<void> {
  const either = AbortSignal.any([stop, left]);
  const body = { ...bodyOf(model, messages, parameters), stream_options: { include_usage: true } };
  const response = await api("/v1/chat/completions", apiKey, either, body);
  const jobId = response.headers.get("x-service-job-id") ?? "";
  onStep({ step: "locked", jobId, tx: response.headers.get("x-service-tx-hash") });
  try {
    await readAnswer(response, onStep);
  } catch (error) {
    if (!stop.aborted) throw error;
    onStep({ step: "stopped" });
  }
  await awaitSettlement(jobId, apiKey, onStep, left);
}

/** The body of the request, as the playground shows it, too. */
export const bodyOf = (model: string, messages: readonly Message[], parameters: Parameters) => ({
  model,
  messages,
  ...parameters,
  stream: true,
});

/** Sends a body, if there is one, with the key; throws what the API says against it. */
async function api(path: string, apiKey: string, signal: AbortSignal, body?: object): Promise<Response> {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const response = await fetch(`${app.base_url}${path}`, { ...init, headers, signal }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    throw new ChatFailure("The service cannot be reached. Check your connection and try again.");
  });
  if (response.ok) return response;
  const answer = (await response.json().catch(() => null)) as { error?: { message?: string } } | null;
  throw new ChatFailure(answer?.error?.message ?? `The service answered with status ${response.status}.`);
}

type Chunk = {
  choices?: { delta?: { content?: string } }[];
  service?: SignedStatement;
  usage?: { completion_tokens: number } | null;
  error?: { message: string };
};

async function readAnswer(response: Response, onStep: (step: Step) => void): Promise<void> {
  const events = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  let answer = "";
  for (let next = await events.read(); !next.done; next = await events.read()) {
    if (next.value.data === "[DONE]") return;
    const chunk = JSON.parse(next.value.data) as Chunk;
    if (chunk.error !== undefined) throw new ChatFailure(chunk.error.message);
    const text = chunk.choices?.[0]?.delta?.content ?? "";
    if (text !== "") {
      answer += text;
      onStep({ step: "text", text });
    }
    const { service } = chunk;
    if (service !== undefined) {
      // Loaded when somebody asks: the first view does not need it.
      const { hashOfText } = await import("../../explorer/answer-hash.ts");
      const isSame = hashOfText(answer) === toProofHash(service.completion.proofHash);
      onStep({ step: "signed", statement: service, isSame });
    }
    if (chunk.usage) onStep({ step: "tokens", tokens: chunk.usage.completion_tokens });
  }
  throw new ChatFailure(
    "The connection broke before the answer was complete. The job runs to its end; its page shows the answer and the charge.",
  );
}

const LOOK_MS = 400;
/** A settlement comes at most 150 s after the lock. A proven job is paid later. */
const LOOKS = 400;

async function awaitSettlement(
  jobId: string,
  apiKey: string,
  onStep: (step: Step) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let look = 0; look < LOOKS; look++) {
    const response = await api(`/v1/jobs/${jobId}`, apiKey, signal);
    const job = (await response.json()) as Job;
    const remaining = response.headers.get("x-service-credits-remaining");
    const isOver = !["pending", "processing", "settling"].includes(job.status);
    if (isOver) return onStep({ step: "settled", job, remaining: remaining === null ? null : Number(remaining) });
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  throw new ChatFailure("The settlement takes long. The job's page shows when it is there.");
}
