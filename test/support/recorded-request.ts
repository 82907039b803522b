/** One chat request as its client sees it: for tests under load, which judge every request afterwards. */
import { readStream } from "./api-client.ts";

/** What one client saw of one request. */
export type RecordedRequest = {
  /** Base URL. */
  gateway: string;
  jobId: string | null;
  /** On-chain address of the worker that was named in the reply. */
  worker: string | null;
  /** `answered`: a complete answer arrived. `refused`: an error of ours. `broken`: the connection broke, or its client left. */
  outcome: "answered" | "refused" | "broken";
  status: number;
  /** The error's code and type, where one came: as the reply, or as the last event of a stream. */
  code: string | null;
  type: string | null;
  message: string | null;
  /** What the gateway's log calls it. */
  requestId: string | null;
  text: string;
  idempotencyKey: string | null;
  /** The client's patience was over before anything ended the request. */
  hung: boolean;
  /** When it ended, Unix milliseconds. */
  at: number;
};

export type Question = {
  gateway: string;
  apiKey: string;
  body: Record<string, unknown> & { stream: boolean };
  idempotencyKey?: string | null;
  /** No client waits longer: a hang shows as such. */
  patienceMs: number;
  /** Ends the request early, as a client that leaves. */
  leaves?: AbortSignal | null;
};

/** Sends one request and follows it to whatever end it has. Never rejects for what the service does. */
export async function ask({
  gateway,
  apiKey,
  body,
  idempotencyKey,
  patienceMs,
  leaves,
}: Question): Promise<RecordedRequest> {
  const patience = AbortSignal.timeout(patienceMs);
  const seen: RecordedRequest = {
    gateway,
    jobId: null,
    worker: null,
    outcome: "broken",
    status: 0,
    code: null,
    type: null,
    message: null,
    requestId: null,
    text: "",
    idempotencyKey: idempotencyKey ?? null,
    hung: false,
    at: 0,
  };
  try {
    const response = await fetch(`${gateway}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${apiKey}`,
        "content-type": "application/json",
        ...(idempotencyKey == null ? {} : { "idempotency-key": idempotencyKey }),
      },
      body: JSON.stringify(body),
      signal: leaves == null ? patience : AbortSignal.any([patience, leaves]),
    });
    seen.status = response.status;
    seen.jobId = response.headers.get("x-service-job-id");
    seen.worker = response.headers.get("x-service-worker");
    seen.requestId = response.headers.get("x-request-id");
    if (response.status !== 200) refused(seen, await response.json());
    else if (body.stream) await readEvents(response, seen);
    else {
      // biome-ignore lint/suspicious/noExplicitAny: the completion object, whose shape other tests hold
      const reply = (await response.json()) as any;
      seen.text = reply.choices[0].message.content;
      seen.outcome = "answered";
    }
  } catch (error) {
    // A broken connection is an outcome too; the verdict says whether its money is right.
    seen.hung = patience.aborted;
    seen.message = String(error);
  }
  seen.at = Date.now();
  return seen;
}

// biome-ignore lint/suspicious/noExplicitAny: the error body, whose shape other tests hold
function refused(seen: RecordedRequest, { error }: any): void {
  seen.code = error.code;
  seen.type = error.type;
  seen.message = error.message;
  seen.jobId ??= error.details?.job_id ?? null;
  seen.outcome = "refused";
}

async function readEvents(response: Response, seen: RecordedRequest): Promise<void> {
  const events = await readStream(response);
  for (const event of events.filter((data) => data !== "[DONE]")) {
    // biome-ignore lint/suspicious/noExplicitAny: chunks and error events, whose shapes other tests hold
    const data = JSON.parse(event) as any;
    if (data.error) return refused(seen, data);
    seen.text += data.choices[0]?.delta?.content ?? "";
  }
  if (events.at(-1) === "[DONE]") seen.outcome = "answered";
}
