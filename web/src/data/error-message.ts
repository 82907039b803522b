import { ApiFailure } from "./client.ts";

/** A failure in words a person can act on; `quiet` when it was their own decision. */
export type ErrorMessage = { title: string; text: string; quiet?: boolean };

/**
 * Describes in words the service's error, or the fault that kept it from answering. `wallet/errors.ts` has the words for what wallets
 * throw.
 */
export function errorMessageOf(error: unknown): ErrorMessage {
  if (error instanceof ApiFailure) return { title: titleOf(error), text: error.message };
  return { title: "Something went wrong", text: error instanceof Error ? error.message : String(error) };
}

function titleOf({ code, status }: ApiFailure): string {
  if (code === "session_expired" || code === "not_signed_in") return "Signed out";
  if (code === "nonce_expired" || code === "nonce_used" || code === "message_expired") return "Sign-in request too old";
  if (code === "origin_not_allowed" || code === "wrong_domain") return "Wrong address";
  if (code === "unreachable" || code === "no_answer" || code === "service_unavailable") return "Service out of reach";
  return status === 404 ? "Not found" : "Not possible";
}
