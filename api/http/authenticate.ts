import type { RequestHandler } from "express";
import { getAddress } from "viem";
import type { Keys } from "../account/keys.ts";
import type { Balances } from "../chain/balances.ts";
import { ApiError } from "../errors.ts";
import { setServiceHeaders } from "./request.ts";

/**
 * `Authorization: Bearer <API_KEY>` on every request below it (specification, "Authentication"). The key is looked up each
 * time, so that a revocation holds for the very next request on every gateway.
 */
export function authenticate(keys: Keys, balances: Balances): RequestHandler {
  return async (request, response, next) => {
    const header = request.headers.authorization;
    if (header === undefined || header.trim() === "") {
      throw new ApiError("missing_api_key", "No API key: send 'Authorization: Bearer <API_KEY>'.");
    }
    const [scheme, key, ...rest] = header.trim().split(/\s+/);
    if (scheme?.toLowerCase() !== "bearer" || key === undefined || rest.length > 0) {
      throw new ApiError("invalid_api_key", "The Authorization header must be 'Bearer <API_KEY>'.");
    }
    const owner = await keys.owner(key);
    if (owner === null) {
      throw new ApiError(
        "invalid_api_key",
        "The API key does not exist or was revoked; create one in the web application's Settings.",
      );
    }
    if (owner.suspended) throw new ApiError("key_suspended", "The API key is suspended for a policy violation.");
    request.client = { wallet: getAddress(owner.wallet), keyCreatedAt: owner.createdAt };
    // A first value for every answer, errors included; routes that change the balance set it again.
    setServiceHeaders(response, { creditsRemaining: await remaining(balances, owner.wallet) });
    next();
  };
}

/** A header is not worth a longer wait. */
const BALANCE_WAIT_MS = 500;

/** The balance, or nothing while the chain cannot be read: the routes that need it say so themselves. */
async function remaining(balances: Balances, wallet: string): Promise<number | undefined> {
  try {
    const tooLate = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), BALANCE_WAIT_MS).unref());
    const balance = await Promise.race([balances.current(wallet), tooLate]);
    return (balance ?? balances.known(wallet))?.free;
  } catch {
    // The head's own watch logs the outage, once an interval and not once a request.
    return balances.known(wallet)?.free;
  }
}
