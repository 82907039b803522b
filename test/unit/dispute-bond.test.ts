/** What this service disputes, and with what: its own operator's jobs, for a bond of the operator's where the answer was only proven. */
import { pino } from "pino";
import { decodeFunctionData, type Hex, zeroHash } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { beforeEach, expect, it } from "vitest";
import type { Operation } from "../../api/chain/operations.ts";
import { Decider, type DecisionContext, proofDigest } from "../../api/disputes/decide.ts";
import { refusalError } from "../../api/disputes/desk.ts";
import { jobDigests } from "../../protocol/digests.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { compactSignature } from "../../protocol/messages.ts";
import { signingAccount } from "../../shared/secp256k1.ts";

const ESCROW = `0x${"e5".repeat(20)}` as const;
const hash = (digit: string) => `0x${digit.repeat(64)}` as const;
const jobId = newJobId();
const worker = signingAccount(generatePrivateKey());
const completion = { jobId, proofHash: hash("a"), promptTokens: 1, completionTokens: 2, completedAt: 7 };
const signature = await worker.sign({ hash: jobDigests(1, ESCROW).completion(completion) });

let sent: Operation[];
let logged: Record<string, unknown>[];
beforeEach(() => {
  [sent, logged] = [[], []];
});

type Case = { job: Record<string, unknown>; reserve?: number; revert?: string; stored?: object | null };

/** Decides a request of a job as the chain and the gateway's row have it. */
function decide({ job, reserve = 100, revert, stored }: Case) {
  const chain: Record<string, unknown> = {
    jobOf: { operator: 1, worker: 7, lockedAt: 1, deadline: 90, ...job },
    payeeOf: 7n << 160n,
    disputeOf: { openedAt: 0 },
    accountOf: { openDisputes: 0 },
    DISPUTE_LIMIT: 8,
    operatorOf: { reserve },
    proofOf: [proofDigest(completion), 8],
  };
  const submit = (operation: Operation) => {
    sent.push(operation);
    const outcome = revert
      ? { status: "reverted", hash: hash("e"), revert: { name: revert, args: [] } }
      : { status: "mined", hash: hash("e") };
    return { mined: Promise.resolve(outcome) };
  };
  const row = {
    disputeTx: null,
    finalTokenAt: null,
    settlementTx: null,
    completion: { completion, signature, finish_reason: "stop" },
  };
  const logger = pino({ level: "error" }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const context = {
    jobs: {
      chainId: 1,
      escrow: ESCROW,
      operator: { id: 1 },
      head: { time: 10 },
      times: { dispute: 60 },
      store: { find: async () => (stored === undefined ? row : stored), disputed: async () => {} },
      pipeline: { submit },
      logger,
    },
    rpc: { client: { readContract: async ({ functionName }: { functionName: string }) => chain[functionName] } },
    indexed: async () => null,
    waitMs: 0,
  } as unknown as DecisionContext;
  const request = { jobId, receivedHash: hash("b"), wallet: worker.address, arrivedAt: new Date() };
  return new Decider(context).decide(request as never);
}

const calldata = () => decodeFunctionData({ abi: inferenceEscrowAbi, data: sent[0]?.data as Hex }).args;

it("a settled job is disputed with the worker's signature", async () => {
  expect(await decide({ job: { status: ChainStatus.Settled } })).toMatchObject({ kind: "opened" });
  expect(calldata()).toEqual([hash("b"), completion, compactSignature(signature)]);
});

it("a proven one without: the contract has its digest", async () => {
  expect(await decide({ job: { status: ChainStatus.Proven } })).toMatchObject({ kind: "opened" });
  expect(calldata()).toEqual([hash("b"), completion, { r: zeroHash, vs: zeroHash }]);
});

it("a proven one needs a bond: without it nothing is sent, the client is told what it can do, and the log who must act", async () => {
  const refused = await decide({ job: { status: ChainStatus.Proven }, reserve: 7 });
  expect(refused).toEqual({ kind: "refused", reason: "reserve_too_small" });
  expect(sent).toEqual([]);
  expect(logged).toMatchObject([{ operator: 1, reserve: 7, bond: 8, msg: expect.stringContaining("fundReserve") }]);
  expect(refusalError("reserve_too_small", toApiJobId(jobId), 60, null)).toMatchObject({
    code: "service_unavailable",
    status: 503,
    message: expect.stringContaining("openDispute"),
  });
});

it("a settled one needs none", async () => {
  expect(await decide({ job: { status: ChainStatus.Settled }, reserve: 0 })).toMatchObject({ kind: "opened" });
});

it("another operator's job is not ours to dispute", async () => {
  const reason = "other_service";
  expect(await decide({ job: { status: ChainStatus.Settled, operator: 2 } })).toEqual({ kind: "refused", reason });
  expect(sent).toEqual([]);
});

it("a window that has closed costs no gas any more", async () => {
  const refused = await decide({ job: { status: ChainStatus.Settled, deadline: 9 } });
  expect(refused).toEqual({ kind: "refused", reason: "closed_on_chain" });
  expect(sent).toEqual([]);
});

it.each([
  ["Dispute_AlreadyOpened", "already_open"],
  ["Dispute_TooMany", "too_many"],
  ["Dispute_NotAParty", "wallet_only"],
  ["Job_TooLate", "closed_on_chain"],
  ["Operator_ReserveTooSmall", "reserve_too_small"],
  ["Settlement_OtherCompletion", "unavailable"],
])("the contract's %s is %s", async (revert, reason) => {
  expect(await decide({ job: { status: ChainStatus.Settled }, revert })).toEqual({ kind: "refused", reason });
});

it("an answer of another worker than the one that was paid says nothing of the charge", async () => {
  expect(await decide({ job: { status: ChainStatus.Settled, worker: 8 } })).toEqual({
    kind: "refused",
    reason: "not_settled",
  });
  expect(sent).toEqual([]);
});
