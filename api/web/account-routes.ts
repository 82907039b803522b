import { type RequestHandler, Router } from "express";
import { type Address, zeroAddress } from "viem";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { usdgValue } from "../../protocol/money.ts";
import type { Keys } from "../accounts/keys.ts";
import { termsOf } from "../chain/account-reader.ts";
import { type Rpc, RpcUnreachable } from "../chain/rpc.ts";
import { ApiError } from "../errors.ts";
import { sessionOf } from "./session-routes.ts";

const DAY_SECONDS = 86_400;

type Parts = { rpc: Rpc; escrow: Address; keys: Keys; now: () => number };

/**
 * `GET /account`: the signed-in wallet's account as the chain has it now; all zero before the first deposit. Credits are whole.
 * `spent_today` counts the UTC day of the chain's time, and only while a daily limit is set. `claimable_units`: payouts that the token
 * refused, in its units.
 */
export function accountRoute({ rpc, escrow, now }: Parts): RequestHandler {
  return async (_request, response) => {
    const { wallet } = sessionOf(response);
    const [account, key, claimable] = await readAccount(rpc, escrow, wallet);
    const { operator, frozen, dailyLimit, spentDay, spentToday } = termsOf(account);
    response.json({
      wallet,
      free: account.free,
      escrowed: account.escrowed,
      usdg_value: usdgValue(account.free + account.escrowed),
      has_account: account.id !== 0,
      operator: operator === 0 ? null : operator,
      authorization_key: key === zeroAddress ? null : key,
      frozen,
      daily_limit: dailyLimit,
      spent_today: dailyLimit !== null && spentDay === Math.floor(now() / DAY_SECONDS) ? spentToday : 0,
      claimable_units: claimable.toString(),
    });
  };
}

async function readAccount(rpc: Rpc, address: Address, wallet: Address) {
  const escrow = { address, abi: inferenceEscrowAbi, args: [wallet] } as const;
  try {
    return await Promise.all([
      rpc.client.readContract({ ...escrow, functionName: "accountOf" }),
      rpc.client.readContract({ ...escrow, functionName: "authorizationKeyOf" }),
      rpc.client.readContract({ ...escrow, functionName: "claimableOf" }),
    ]);
  } catch (error) {
    throw new RpcUnreachable("account", error);
  }
}

/**
 * `GET /key` → `{key: {hint, created_at, suspended} | null}`; `POST /key` creates the wallet's key, or replaces it, and returns it
 * once as `api_key`; `DELETE /key` revokes it. Both hold for the very next request to the API.
 */
export function keyRoutes({ keys }: Parts): Router {
  const read: RequestHandler = async (_request, response) => {
    const key = await keys.current(sessionOf(response).wallet);
    const shown = key && { hint: key.hint, created_at: key.createdAt.toISOString(), suspended: key.suspended };
    response.json({ key: shown });
  };

  const create: RequestHandler = async (_request, response) => {
    const { wallet } = sessionOf(response);
    if ((await keys.current(wallet))?.suspended) {
      throw new ApiError("key_suspended", "The key is suspended for a policy violation and cannot be replaced.");
    }
    const apiKey = await keys.regenerate(wallet);
    response.status(201).json({ api_key: apiKey });
  };

  const revoke: RequestHandler = async (_request, response) => {
    const { wallet } = sessionOf(response);
    await keys.revoke(wallet);
    response.status(204).end();
  };

  return Router().get("/", read).post("/", create).delete("/", revoke);
}
