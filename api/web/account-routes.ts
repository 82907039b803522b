import { type RequestHandler, Router } from "express";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { usdgValue } from "../../protocol/money.ts";
import type { Keys } from "../accounts/keys.ts";
import { type Rpc, RpcUnreachable } from "../chain/rpc.ts";
import { ApiError } from "../errors.ts";
import { sessionOf } from "./session-routes.ts";

const FROZEN = 1;
const LIMITED = 2;
const DAY_SECONDS = 86_400;

type Parts = { rpc: Rpc; escrow: `0x${string}`; keys: Keys; now: () => number };

/**
 * `GET /account`: the signed-in wallet's account as the chain has it now; all zero before the first deposit. Credits are whole.
 * `spent_today` counts the UTC day of the chain's time, and only while a daily limit is set.
 */
export function accountRoute({ rpc, escrow, now }: Parts): RequestHandler {
  return async (_request, response) => {
    const { wallet } = sessionOf(response);
    const account = await readAccount(rpc, escrow, wallet);
    const limited = (account.flags & LIMITED) !== 0;
    response.json({
      wallet,
      free: account.free,
      escrowed: account.escrowed,
      usdg_value: usdgValue(account.free + account.escrowed),
      has_account: account.id !== 0,
      frozen: (account.flags & FROZEN) !== 0,
      daily_limit: limited ? account.dailyLimit : null,
      spent_today: limited && account.spentDay === Math.floor(now() / DAY_SECONDS) ? account.spentToday : 0,
    });
  };
}

async function readAccount(rpc: Rpc, escrow: `0x${string}`, wallet: `0x${string}`) {
  try {
    return await rpc.client.readContract({
      address: escrow,
      abi: inferenceEscrowAbi,
      functionName: "accountOf",
      args: [wallet],
    });
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
