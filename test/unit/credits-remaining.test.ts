/** What a reply says of the credits that remain, where a reorganisation made the gateway forget the wallet's balance meanwhile. */
import { pino } from "pino";
import type { Hex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { expect, it } from "vitest";
import type { Operation } from "../../api/chain/operations.ts";
import { Runs } from "../../api/jobs/job.ts";
import type { DispatchEvents } from "../../api/jobs/worker-client.ts";
import { chatRoute } from "../../api/routes/chat.ts";
import { answerHash } from "../../protocol/answer-hash.ts";
import { jobDigests } from "../../protocol/digests.ts";
import type { Dispatch } from "../../protocol/dispatch.ts";
import { signingAccount } from "../../shared/secp256k1.ts";
import { rowsInMemory } from "../support/job-rows.ts";

const ESCROW: Hex = `0x${"e5".repeat(20)}`;
const TEXT = "The answer.";
const gateway = signingAccount(generatePrivateKey());
const worker = signingAccount(generatePrivateKey());
const host = { id: 1, signer: worker.address, endpoint: "https://worker.example", models: new Set([1]) };
const model = { id: "m", number: 1, tier: "lite", contextWindow: 4_096, creditsPerRequest: 8, creditsPer1kTokens: 4 };
const now = Math.floor(Date.now() / 1000);
/** The account's word after the lock: 992 credits are free. */
const account = 992n << 32n;

const submit = ({ kind }: Operation) => {
  const events = [{ name: "JobLocked", args: { credits: 8, account }, position: 1 }];
  const mined = {
    status: "mined",
    hash: "0x10",
    blockNumber: 1,
    blockTime: now,
    events: kind === "lock" ? events : [],
  };
  return { signed: Promise.resolve("0x10"), sent: Promise.resolve("0x10"), mined: Promise.resolve(mined) };
};

/** An honest worker's answer. */
async function dispatch(_endpoint: string, { assignment: { jobId } }: Dispatch, events: DispatchEvents) {
  events.delta(TEXT);
  const tokens = { promptTokens: 3, completionTokens: 4 };
  const completion = { jobId, proofHash: answerHash(TEXT), ...tokens, completedAt: now };
  return {
    completion,
    signature: await worker.sign({ hash: jobDigests(1, ESCROW).completion(completion) }),
    finish_reason: "stop",
  };
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
  const jobs = {
    account: gateway,
    operator: { id: 1, mayNotLock: null },
    chainId: 1,
    escrow: ESCROW,
    times: { completion: 120, inclusion: 30, acknowledge: 10, firstToken: 60, lock: 20 },
    head: { time: now, silentMs: 0, refresh: async () => {} },
    pipeline: { congested: false, submit },
    balances: {
      current: async () => ({ free: 1_000 }),
      hold: async () => () => {},
      terms: () => ({ frozen: false, dailyLimit: null, operator: 1, authorized: false }),
      known: () => balance,
      expectReturn: () => {},
    },
    workers: {
      candidates: () => [host],
      reserve: () => () => {},
      choose: () => host,
      begin: () => ({ firstToken: () => {}, end: () => {} }),
      report: () => {},
      reportSuccess: () => {},
      reportSpeed: () => {},
      charged: () => {},
      mostTokens: () => null,
    },
    client: { dispatch },
    ...rowsInMemory(),
    cipher: { encrypt: () => Buffer.alloc(0) },
    outputRetentionHours: 24,
    refused: new Map(),
    logger: pino({ level: "silent" }),
  };
  const phase = { stopping: false, takenUp: true };
  const dependencies = {
    jobs,
    directory: { model: () => model },
    idempotency: {},
    docsUrl: "",
    runs: new Runs(),
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
