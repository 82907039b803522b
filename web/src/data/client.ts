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
export const isOutage = (error: unknown): boolean =>
  error instanceof ApiFailure && (error.status === 0 || error.status >= 500);

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Calls the API; rejects with an `ApiFailure`. */
export async function call<T>(method: Method, path: string, body?: unknown): Promise<T> {
  const response = await send(method, path, body);
  if (response.status === 204) return undefined as T;
  const answer = (await response.json().catch(() => null)) as { error?: ErrorBody } | null;
  if (response.ok && answer !== null) return answer as T;
  const error = answer?.error;
  throw new ApiFailure(
    response.status,
    error?.code ?? "unreadable",
    error?.message ?? `The service answered with status ${response.status}. Try again in a moment.`,
    error?.details,
  );
}

type ErrorBody = { code: string; message: string; details?: Record<string, unknown> };

async function send(method: Method, path: string, body: unknown): Promise<Response> {
  try {
    return await fetch(BASE + path, {
      method,
      credentials: "same-origin",
      headers: {
        // The server refuses changes without it: no form of another site can set a header.
        ...(method === "GET" ? {} : { "x-requested-by": "web" }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    const why = navigator.onLine
      ? "The service cannot be reached. Check your connection and"
      : "You are offline. Connect and";
    throw new ApiFailure(0, "unreachable", `${why} try again.`);
  }
}
