/** Which credits an account shows: the chain's, or the index's where the chain is not read. */
import express from "express";
import { pino } from "pino";
import { expect, it } from "vitest";
import type { Balance } from "../../../../api/chain/balances.ts";
import { getAccountRoute } from "../../../../api/routes/account.ts";
import { errorHandler } from "../../../../api/routes/errors.ts";
import { readerOf } from "../../support/jobs.ts";
import { serve } from "../../support/serve.ts";

/** The account where the chain is read so, and the index has these free credits; null: it does not know the wallet. */
async function account(bounded: () => Promise<Balance | null>, indexed: number | null) {
  const pool = readerOf(indexed === null ? [] : [{ free: indexed, lastTopupAt: null }]);
  const handlers = getAccountRoute.handlers({ pool, balances: { bounded } });
  const app = express()
    .use((request, _response, next) => {
      request.client = { wallet: `0x${"11".repeat(20)}`, keyCreatedAt: new Date(0) } as never;
      next();
    })
    .get("/", ...handlers)
    .use(errorHandler("https://docs.example.com", pino({ level: "silent" })));
  const reply = await fetch(await serve(app));
  return { status: reply.status, body: (await reply.json()) as object };
}

const read = async () => ({ free: 7, escrowed: 0 });
const notRead = async () => null;
const unreachable = async () => {
  throw new Error("the node does not answer");
};

it.each([
  ["is read", 5, 7, read],
  ["is read", null, 7, read],
  ["is not read", 5, 5, notRead],
  ["does not answer", 5, 5, unreachable],
])("where the chain %s, and the index has %s credits, it shows %s", async (_, indexed, credits, chain) => {
  expect(await account(chain, indexed)).toMatchObject({ status: 200, body: { credits_remaining: credits } });
});

it.each([
  ["is not read", notRead, /too many wallets/],
  ["does not answer", unreachable, /Neither the chain nor the index/],
])("where the chain %s, and the index does not know the wallet, it is 503", async (_, chain, message) => {
  expect(await account(chain, null)).toMatchObject({
    status: 503,
    body: { error: { code: "service_unavailable", message: expect.stringMatching(message) } },
  });
});
