/** Requests to the application's own API below /app/api. */

const BASE = "/app/api";

/** An answer that is an error, or none at all (`code` is `unreachable` then). */
export class ApiFailure extends Error {
  readonly code: string;
  readonly status: number;
  readonly details: Record<string, unknown>;

  constructor(status: number, code: string, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.name = "ApiFailure";
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** Codes that mean: nobody is signed in (any more). */
export const isSignedOut = (error: unknown): error is ApiFailure =>
  error instanceof ApiFailure && (error.code === "session_expired" || error.code === "not_signed_in");

/** The service does not answer, or cannot now. */
export const isOutage = (error: unknown): error is ApiFailure =>
  error instanceof ApiFailure && (error.status === 0 || error.status >= 500);

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A read without an answer for so long is told as failed. A change can wait for a block, so it gets more time. */
const READ_MS = 10_000;
const CHANGE_MS = 60_000;

/** Calls the API; rejects with an `ApiFailure`. `answers`: statuses beside those below 300 that come with the answer all the same. */
export async function call<T>(
  method: Method,
  path: string,
  body?: unknown,
  answers: readonly number[] = [],
): Promise<T> {
  const { status, text } = await send(method, path, body);
  if (status === 204) return undefined as T;
  const answer = parsed(text);
  const isAnswer = status < 300 || (answers.includes(status) && answer?.error === undefined);
  if (isAnswer && answer !== null) return answer as T;
  const error = answer?.error;
  throw new ApiFailure(
    status,
    error?.code ?? "unreadable",
    error?.message ?? `The service answered with status ${status}. Try again in a moment.`,
    error?.details,
  );
}

type ErrorBody = { code: string; message: string; details?: Record<string, unknown> };

/** Null for what is no JSON: the page of a proxy, for example. */
function parsed(text: string): { error?: ErrorBody } | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function send(method: Method, path: string, body: unknown): Promise<{ status: number; text: string }> {
  const isRead = method === "GET";
  const signal = AbortSignal.timeout(isRead ? READ_MS : CHANGE_MS);
  try {
    const response = await fetch(BASE + path, {
      method,
      credentials: "same-origin",
      headers: {
        // The server refuses changes without it: no form of another site can set a header.
        ...(isRead ? {} : { "x-requested-by": "web" }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
    });
    return { status: response.status, text: await response.text() };
  } catch {
    throw new ApiFailure(0, signal.aborted ? "no_answer" : "unreachable", whyUnanswered(isRead, signal.aborted));
  }
}

function whyUnanswered(isRead: boolean, isLate: boolean): string {
  if (!navigator.onLine) return "You are offline. Connect and try again.";
  if (!isLate) return "The service cannot be reached. Check your connection and try again.";
  if (isRead) return `The service has not answered for ${READ_MS / 1_000} seconds. This page asks again by itself.`;
  return `The service has not answered for ${CHANGE_MS / 1_000} seconds. It may still do what you asked: look before you try again.`;
}
