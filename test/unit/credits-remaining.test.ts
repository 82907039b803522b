/** What a reply says of the credits that remain, where a reorganisation made the gateway forget the wallet's balance meanwhile. */
import { generatePrivateKey } from "viem/accounts";
import { expect, it } from "vitest";
import type { Operation } from "../../api/chain/operations.ts";
import { RunningJobs } from "../../api/jobs/job.ts";
import type { DispatchEvents } from "../../api/jobs/worker-client.ts";
import { chatRoute } from "../../api/routes/chat.ts";
import type { Dispatch } from "../../protocol/dispatch.ts";
import { signingAccount } from "../../shared/secp256k1.ts";
import { fakeGateway, MODEL, minedAt } from "../support/fake-gateway.ts";
import { signingWorker } from "./support/jobs.ts";

const TEXT = "The answer.";
const gateway = signingAccount(generatePrivateKey());
const host = signingWorker();
const now = Math.floor(Date.now() / 1000);
/** The account's word after the lock: 992 credits are free. */
const account = 992n << 32n;

const submit = ({ kind }: Operation) => {
  const hash = Promise.resolve("0x10");
  return { signed: hash, mined: Promise.resolve(minedAt(now, kind, account)) };
};

/** An honest worker's answer. */
async function dispatch(_endpoint: string, { assignment: { jobId } }: Dispatch, events: DispatchEvents) {
  events.delta(TEXT);
  return host.complete(jobId, TEXT, { completedAt: now });
}

/** The reply's headers, from a gateway that knows `balance` of the wallet once the lock is mined. */
async function headersOf(balance: { free: number } | null): Promise<Map<string, string>> {
  const headers = new Map<string, string>();
  const response = {
    req: { receivedAt: 0 },
    once: () => {},
    setHeader: (name: string, value: string) => headers.set(name, value),
    json: () => {},
  };
  const jobs = fakeGateway({
    time: now,
    account: gateway,
    pipeline: { congested: false, submit },
    balances: {
      current: async () => ({ free: 1_000 }),
      hold: async () => () => {},
      terms: () => ({ frozen: false, dailyLimit: null, operator: 1, authorized: false }),
      known: () => balance,
      expectReturn: () => {},
    },
    workers: { candidates: () => [host], choose: () => host, mostTokens: () => null },
    client: { dispatch },
  });
  const phase = { stopping: false, takenUp: true };
  const dependencies = {
    jobs,
    directory: { model: () => MODEL },
    idempotency: {},
    docsUrl: "",
    runs: new RunningJobs(),
    phase,
  };
  const request = {
    client: { wallet: gateway.address },
    headers: {},
    body: { model: "m", messages: [{ role: "user", content: "Hi" }], max_tokens: 100 },
  };
  await (chatRoute(dependencies as never) as (...parts: unknown[]) => Promise<void>)(request, response, () => {});
  return headers;
}

it("is the balance as the gateway knows it", async () => {
  expect((await headersOf({ free: 994 })).get("x-service-credits-remaining")).toBe("994");
});

it("is what the lock left, never 0, where the balance is not known any more", async () => {
  expect((await headersOf(null)).get("x-service-credits-remaining")).toBe("992");
});
