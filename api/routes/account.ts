import { usdgValue } from "../../protocol/money.ts";
import type { Balance, Balances } from "../chain/balances.ts";
import { RpcUnreachable } from "../chain/rpc.ts";
import { type AccountRow, getAccount, ifIndexed } from "../db/index-reads.ts";
import type { Reader } from "../db/pool.ts";
import { unavailable } from "../errors.ts";
import { isoTime } from "../jobs/job-reader.ts";
import { tooManyBalances } from "../jobs/refusals.ts";
import { accountSchema } from "../schemas/resources.ts";
import { defineRoute } from "./define-route.ts";
import { setServiceHeaders } from "./request.ts";

/** `GET /v1/account`. The balance comes from the chain, or from the index while the node is out of reach. */
export const getAccountRoute = defineRoute({
  method: "get",
  path: "/v1/account",
  operationId: "getAccount",
  tag: "Account",
  summary: "Get the account",
  response: { description: "The account of the key's wallet.", schema: accountSchema },
  isIndexed: true,
  handler:
    ({ pool, balances }: { pool: Reader; balances: Pick<Balances, "bounded"> }) =>
    async ({ client: { wallet, keyCreatedAt }, request }, response) => {
      const account = await ifIndexed(getAccount(pool, wallet), null);
      const credits = await currentCredits(balances.bounded(wallet, request.receivedAt), account);
      setServiceHeaders(response, { creditsRemaining: credits });
      return {
        wallet,
        credits_remaining: credits,
        usdg_value: usdgValue(credits),
        last_topup_at: isoTime(account?.lastTopupAt ?? null),
        api_key_created_at: keyCreatedAt.toISOString(),
      };
    },
});

/**
 * The wallet's credits on chain, which authentication has read for this very request. They are the index's where the node does not answer, and where
 * this wallet is not read because it had none there while too many such wallets ask.
 */
async function currentCredits(reading: Promise<Balance | null>, account: AccountRow | null): Promise<number> {
  const balance = await reading.catch((error) => {
    if (account !== null) return null;
    throw unavailable(
      "Neither the chain nor the index can be read now; retry in a few seconds.",
      5,
      error instanceof Error ? error : new RpcUnreachable("balance", error),
    );
  });
  if (balance !== null) return balance.free;
  if (account === null) throw tooManyBalances();
  return account.free;
}
