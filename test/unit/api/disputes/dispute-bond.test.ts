/** What this service disputes, and with what: its own operator's jobs, with what it sent, and for a bond where the answer was only proven. */
import { pino } from "pino";
import { type Address, decodeFunctionData, type Hex, zeroHash } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { beforeEach, expect, it } from "vitest";
import type { Operation } from "../../../../api/chain/operations.ts";
import type { StoredJob } from "../../../../api/db/jobs.ts";
import { Decider, type DecisionContext } from "../../../../api/disputes/decide.ts";
import { type DisputeContext, DisputeDesk, refusalError } from "../../../../api/disputes/desk.ts";
import { deliveryBehind } from "../../../../protocol/delivery.ts";
import { jobDigests } from "../../../../protocol/digests.ts";
import { inferenceEscrowAbi } from "../../../../protocol/generated/abi.ts";
import { newJobId, toApiJobId } from "../../../../protocol/job-id.ts";
import { ChainStatus } from "../../../../protocol/job-status.ts";
import { compactSignature, proofDigest } from "../../../../protocol/messages.ts";
import { signingAccount } from "../../../../shared/secp256k1.ts";
import { signerOf } from "../../../../verify/calls.ts";
import { ESCROW, minedAt, reverted, storedJob, submission, TIMES } from "../../../support/fake-gateway.ts";
import { contractClient, noRequests } from "../../support/jobs.ts";

const hash = (digit: string) => `0x${digit.repeat(64)}` as const;
const jobId = newJobId();
const worker = signingAccount(generatePrivateKey());
const gateway = signingAccount(generatePrivateKey());
const tokens = { promptTokens: 1, completionTokens: 2, reasoningTokens: 0 };
const completion = { jobId, proofHash: hash("a"), ...tokens, textBytes: 8, completedAt: 7 };
const signature = await worker.sign({ hash: jobDigests(1, ESCROW).completion(completion) });

let sent: Operation[];
let logged: Record<string, unknown>[];
beforeEach(() => {
  [sent, logged] = [[], []];
});

type Case = {
  job: Record<string, unknown>;
  reserve?: number;
  /** What the proof charges. */
  charge?: number;
  revert?: string;
  /** The job's state once the transaction is mined, if another one changed it. */
  meanwhile?: number;
  /** When the chain says that the job was disputed; 0: never. */
  openedAt?: number;
  /** The wallet's open disputes of this service. */
  openDisputes?: number;
  /** Those that arbiters rejected, when each was (Unix seconds). */
  lost?: number[];
  time?: number;
  /** The gateway's row, at each look; the last one stays. */
  stored?: (StoredJob | null)[];
  waitMs?: number;
};

/** A job as the chain and the gateway's row have it. */
function contextOf({
  job,
  reserve = 100,
  charge = 8,
  revert,
  meanwhile,
  openedAt = 0,
  openDisputes = 0,
  lost = [],
  time = 10,
  stored,
  waitMs = 0,
}: Case): DecisionContext {
  const onChain = { operator: 1, worker: 7, lockedAt: 1, deadline: 90, ...job };
  const chain: Record<string, unknown> = {
    jobOf: onChain,
    payeeOf: 7n << 160n,
    disputeOf: { openedAt },
    accountOf: { openDisputes },
    DISPUTE_LIMIT: 8,
    DISPUTE_BOND: 100,
    operatorOf: { reserve },
    proofOf: [proofDigest(completion), charge],
  };
  const submit = (operation: Operation) => {
    sent.push(operation);
    if (meanwhile !== undefined) chain["jobOf"] = { ...onChain, status: meanwhile };
    return submission(revert ? reverted(revert) : { ...minedAt(time, operation.kind), hash: hash("e") });
  };
  const logger = pino({ level: "error" }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const rows = stored ?? [ROW];
  return {
    jobs: {
      account: gateway,
      chainId: 1,
      escrow: ESCROW,
      operator: { id: 1, inOffice: true, refresh: async () => {} },
      head: { time },
      times: TIMES,
      store: { find: async () => (rows.length > 1 ? rows.shift() : rows[0]) ?? null },
      rows: { written: async () => {} },
      pipeline: { submit },
      logger,
    },
    rpc: { client: contractClient((name) => chain[name]) },
    registry: ESCROW,
    indexed: async () => null,
    lost: async (_wallet: string, from: number) => lost.filter((at) => at >= from).length,
    waitMs,
  };
}

const ROW = storedJob({ jobId, completion: { completion, signature, finish_reason: "stop" } });
const request = {
  jobId,
  receivedHash: hash("b"),
  wallet: worker.address,
  gateway: gateway.address,
  arrivedAt: new Date(),
};

/** Decides a request of that job. */
const decide = (one: Case) => new Decider(contextOf(one)).decide(request);

const DAY = 86_400;
it.each([
  ["two lost in 30 days", [40, 41], "opened"],
  ["three lost in 30 days", [40, 41, 42], "lost_before"],
  ["three lost, one of them earlier", [9, 41, 42], "opened"],
])("a wallet with %s has its next dispute decided as it should be", async (_, days, expected) => {
  const time = 40 * DAY;
  const job = { status: ChainStatus.Settled, lockedAt: time - 5 };
  const decision = await decide({ job, time, lost: days.map((day) => day * DAY) });
  expect(decision.kind === "refused" ? decision.reason : decision.kind).toBe(expected);
  expect(sent).toHaveLength(expected === "opened" ? 1 : 0);
});

it("a wallet that lost many disputes still has a withheld answer disputed for it", async () => {
  const lost = [1, 2, 3, 4].map((n) => 40 * DAY - n);
  const decision = await decide({
    job: { status: ChainStatus.Proven, lockedAt: 40 * DAY - 160, deadline: 3_760 },
    time: 40 * DAY,
    lost,
  });
  expect(decision).toMatchObject({ kind: "opened" });
});

const calldata = () => decodeFunctionData({ abi: inferenceEscrowAbi, data: sent[0]?.data as Hex }).args;

it("a settled job is disputed with the worker's signature", async () => {
  expect(await decide({ job: { status: ChainStatus.Settled } })).toMatchObject({ kind: "opened" });
  expect(calldata()).toEqual([hash("b"), completion, compactSignature(signature)]);
});

it("a proven one without: the contract has its digest", async () => {
  expect(await decide({ job: { status: ChainStatus.Proven } })).toMatchObject({ kind: "opened" });
  expect(calldata()).toEqual([hash("b"), completion, { r: zeroHash, vs: zeroHash }]);
});

it("a proven one without a bond is not sent, and client and log say why", async () => {
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

it("a proven one of a large charge needs the largest bond and no more", async () => {
  const job = { status: ChainStatus.Proven };
  expect(await decide({ job, charge: 2_560, reserve: 100 })).toMatchObject({ kind: "opened" });
  expect(await decide({ job, charge: 2_560, reserve: 99 })).toEqual({ kind: "refused", reason: "reserve_too_small" });
  expect(logged).toMatchObject([{ reserve: 99, bond: 100 }]);
});

it("a proven one that can still be settled is not disputed for a bond", async () => {
  // Until 150 s after the lock, and the half of the time until it can be finalized is not over.
  const job = { status: ChainStatus.Proven, lockedAt: 1, deadline: 3_605 };
  expect(await decide({ job })).toEqual({ kind: "refused", reason: "not_settled" });
  expect(await decide({ job, stored: [null] })).toEqual({ kind: "refused", reason: "not_settled" });
  expect(sent).toEqual([]);
  expect(await decide({ job: { ...job, lockedAt: -140 } })).toMatchObject({ kind: "opened" });
  expect(await decide({ job: { ...job, deadline: 1_808 } })).toMatchObject({ kind: "opened" });
});

const delivery = async () => {
  const behind = deliveryBehind(sent[0]?.data as Hex, jobId);
  if (behind === null) return null;
  const { signature: byGateway, ...message } = behind;
  const place = { chainId: 1, addresses: { escrow: ESCROW as Address } };
  return { ...message, signer: await signerOf(place, "Delivery", message, byGateway) };
};

it.each([true, false])(
  "goes out with the gateway's signed statement of what it sent, complete: %s",
  async (complete) => {
    const stored = [{ ...ROW, sentHash: hash("c"), sentComplete: complete }];
    await decide({ job: { status: ChainStatus.Settled }, stored });
    expect(await delivery()).toEqual({ jobId, sentHash: hash("c"), complete, signer: gateway.address });
    expect(calldata()).toEqual([hash("b"), completion, compactSignature(signature)]);
  },
);

it("waits for a reply that is on its way, so that no client outruns the statement", async () => {
  const sending = { ...ROW, sentHash: null, sentComplete: null, finalTokenAt: new Date() };
  const stored = [sending, sending, { ...sending, sentHash: hash("c"), sentComplete: true }];
  await decide({ job: { status: ChainStatus.Settled }, stored, waitMs: 60_000 });
  expect(await delivery()).toMatchObject({ sentHash: hash("c"), complete: true });
});

it("goes out without one where nobody knows what was sent", async () => {
  const unknown = { ...ROW, sentHash: null, sentComplete: null };
  for (const row of [null, { ...unknown, finalTokenAt: new Date() }, { ...unknown, finalTokenAt: new Date(0) }]) {
    sent = [];
    const arrived = { ...request, arrivedAt: row?.finalTokenAt ?? new Date() };
    const context = contextOf({ job: { status: ChainStatus.Proven }, stored: [row], waitMs: 0 });
    const indexed = async () => ({ proofTx: null, settlementTx: null, proofHash: null, disputeTx: null });
    const decision = await new Decider({ ...context, indexed }).decide(arrived);
    if (row === null) expect(decision).toEqual({ kind: "refused", reason: "not_settled" });
    else expect([decision.kind, await delivery()]).toEqual(["opened", null]);
  }
});

/** A client's request of that job, at a desk that takes it down as `recorded`, and what it counts for the operator. */
function desk(
  one: Case,
  recorded: typeof request | null = request,
  found = { ...request, outcome: null as string | null },
) {
  const outcomes: string[] = [];
  const context: DisputeContext = {
    ...contextOf(one),
    disputes: { ...noRequests, record: async () => recorded, answer: async () => true, find: async () => found },
    signer: { held: true, left: async () => [] },
    metrics: { disputes: { inc: ({ outcome }: { outcome: string }) => void outcomes.push(outcome) } },
  };
  const opened = new DisputeDesk(context);
  const job = { jobId, wallet: worker.address, stored: ROW, row: null };
  return { outcomes, ask: () => opened.request(job, request.receivedHash, request.arrivedAt) };
}

it("is decided once, however often the request is repeated meanwhile", async () => {
  const { ask, outcomes } = desk({ job: { status: ChainStatus.Acknowledged }, waitMs: 500 });
  for (const answer of await Promise.allSettled(Array.from({ length: 20 }, ask))) {
    expect(answer).toMatchObject({ status: "rejected", reason: { code: "job_not_settled" } });
  }
  expect(outcomes).toEqual(["not_settled"]);
});

it("is decided for one hash at a time; another is refused at once", async () => {
  const { ask, outcomes } = desk({ job: { status: ChainStatus.Settled } }, null);
  await expect(ask()).rejects.toMatchObject({ code: "conflict", status: 409, param: "received_output_hash" });
  expect([outcomes, sent]).toEqual([[], []]);
});

it("whose gateway lost its signer is answered by the one that took it over", async () => {
  const never = { job: { status: ChainStatus.Acknowledged }, waitMs: 60_000 };
  const { ask, outcomes } = desk(never, request, { ...request, outcome: "wallet_only" });
  await expect(ask()).rejects.toMatchObject({ code: "conflict", message: expect.stringContaining("wallet") });
  expect([outcomes, sent]).toEqual([[], []]);
});

it("opened meanwhile by another gateway is refused with its transaction", async () => {
  const disputeTx = hash("d");
  const { ask } = desk({ job: { status: ChainStatus.Disputed }, stored: [ROW, ROW, { ...ROW, disputeTx }] });
  const details = { dispute_tx: disputeTx };
  await expect(ask()).rejects.toMatchObject({ code: "dispute_already_open", details });
});

it.each([
  ["is refused as open while the chain has it", 1_700_000_000, { kind: "refused", reason: "already_open" }],
  ["is opened again when the chain has none", 0, { kind: "opened", tx: hash("e"), workerHash: hash("a") }],
])(
  "of which the gateway's own row has a transaction, which a reorganisation can have taken back, %s",
  async (_, openedAt, decision) => {
    const stored = [{ ...ROW, disputeTx: hash("d") }];
    expect(await decide({ job: { status: ChainStatus.Settled }, openedAt, stored })).toEqual(decision);
  },
);

it("a settled one needs none", async () => {
  expect(await decide({ job: { status: ChainStatus.Settled }, reserve: 0 })).toMatchObject({ kind: "opened" });
});

it("another operator's job is not ours to dispute", async () => {
  const reason = "other_service";
  expect(await decide({ job: { status: ChainStatus.Settled, operator: 2 } })).toEqual({ kind: "refused", reason });
  expect(sent).toEqual([]);
});

it.each([ChainStatus.Failed, ChainStatus.Refunded])(
  "a job that ended without a charge is not disputed: state %i",
  async (status) => {
    const reason = "not_charged";
    expect(await decide({ job: { status } })).toEqual({ kind: "refused", reason });
    const message = expect.stringContaining("without a charge");
    expect(refusalError(reason, toApiJobId(jobId), 60, null)).toMatchObject({ code: "conflict", message });
  },
);

it("a ninth one of a wallet costs no gas; what needs none is still answered", async () => {
  const eight: Case = { job: { status: ChainStatus.Settled }, openDisputes: 8 };
  expect(await decide(eight)).toEqual({ kind: "refused", reason: "too_many" });
  const same = { ...request, receivedHash: completion.proofHash };
  expect(await new Decider(contextOf(eight)).decide(same)).toMatchObject({ kind: "equal" });
  expect(sent).toEqual([]);
});

it("counts the wallet's disputes on their way against the contract's limit", async () => {
  const decider = new Decider(contextOf({ job: { status: ChainStatus.Settled }, openDisputes: 5 }));
  const decisions = await Promise.all(Array.from({ length: 20 }, () => decider.decide(request)));
  expect(decisions.filter(({ kind }) => kind === "opened")).toHaveLength(3);
  expect(sent).toHaveLength(3);
});

it("a window that has closed costs no gas any more", async () => {
  const refused = await decide({ job: { status: ChainStatus.Settled, deadline: 9 } });
  expect(refused).toEqual({ kind: "refused", reason: "closed_on_chain" });
  expect(sent).toEqual([]);
});

it.each([
  ["Dispute_AlreadyOpened", "already_open", "dispute_already_open"],
  ["Dispute_TooMany", "too_many", "conflict"],
  ["Dispute_NotAParty", "wallet_only", "conflict"],
  ["Job_TooLate", "closed_on_chain", "dispute_window_expired"],
  ["Operator_ReserveTooSmall", "reserve_too_small", "service_unavailable"],
  ["Settlement_OtherCompletion", "unavailable", "service_unavailable"],
] as const)("the contract's %s is %s: %s", async (revert, reason, code) => {
  expect(await decide({ job: { status: ChainStatus.Settled }, revert })).toEqual({ kind: "refused", reason });
  expect(refusalError(reason, toApiJobId(jobId), 60, null)).toMatchObject({ code });
});

it.each([
  ["another dispute of it", ChainStatus.Disputed, 0, "already_open"],
  ["another dispute of it and its ruling", ChainStatus.Refunded, 9, "already_open"],
  ["its worker's conviction", ChainStatus.Refunded, 0, "not_charged"],
  ["nothing that the node has seen", ChainStatus.Settled, 0, "unavailable"],
] as const)("a job whose state changed before the dispute was mined: by %s", async (_, meanwhile, openedAt, reason) => {
  const raced = { job: { status: ChainStatus.Settled }, revert: "Job_WrongState", meanwhile, openedAt };
  expect(await decide(raced)).toEqual({ kind: "refused", reason });
  expect(sent).toHaveLength(1);
});

it("ignores the answer of a worker that was not paid", async () => {
  expect(await decide({ job: { status: ChainStatus.Settled, worker: 8 } })).toEqual({
    kind: "refused",
    reason: "not_settled",
  });
  expect(sent).toEqual([]);
});
