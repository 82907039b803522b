/** What a reply says of the credits that remain, where a reorganisation made the gateway forget the wallet's balance meanwhile. */
import { generatePrivateKey } from "viem/accounts";
import { expect, it } from "vitest";
import type { Operation } from "../../../../api/chain/operations.ts";
import type { DispatchEvents } from "../../../../api/workers/worker-client.ts";
import type { Dispatch } from "../../../../protocol/dispatch.ts";
import { signingAccount } from "../../../../shared/secp256k1.ts";
import { fakeGateway, minedAt, submission } from "../../../support/fake-gateway.ts";
import { ask, signingWorker, spending } from "../../support/jobs.ts";

const TEXT = "The answer.";
const gateway = signingAccount(generatePrivateKey());
const host = signingWorker();
const now = Math.floor(Date.now() / 1000);
/** The account's word after the lock: 992 credits are free. */
const account = 992n << 32n;

const submit = ({ kind }: Operation) => {
  return submission(minedAt(now, kind, account));
};

/** An honest worker's answer. */
async function dispatch(_endpoint: string, { assignment: { jobId } }: Dispatch, events: DispatchEvents) {
  events.delta(TEXT);
  return host.complete(jobId, TEXT, { completedAt: now });
}

/** The reply's headers, from a gateway that knows `balance` of the wallet once the lock is mined. */
async function headersOf(balance: { free: number } | null): Promise<Map<string, string>> {
  const headers = new Map<string, string>();
  const jobs = fakeGateway({
    time: now,
    account: gateway,
    pipeline: { submit },
    balances: spending(balance),
    choose: () => host,
    client: { dispatch },
  });
  await ask(jobs, { setHeader: (name: string, value: string) => headers.set(name, value), json: () => {} });
  return headers;
}

it("is the balance as the gateway knows it", async () => {
  expect((await headersOf({ free: 994 })).get("x-service-credits-remaining")).toBe("994");
});

it("is what the lock left, never 0, where the balance is not known any more", async () => {
  expect((await headersOf(null)).get("x-service-credits-remaining")).toBe("992");
});
