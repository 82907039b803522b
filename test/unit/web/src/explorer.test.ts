/** The explorer's reading of a batch: whose money each transfer is, by what the events alone say. */
import {
  type Abi,
  type Address,
  encodeAbiParameters,
  encodeEventTopics,
  encodeFunctionData,
  erc20Abi,
  getAddress,
  type Hex,
} from "viem";
import { describe, expect, it } from "vitest";
import { inferenceEscrowAbi } from "../../../../protocol/generated/abi.ts";
import { newJobId, toApiJobId } from "../../../../protocol/job-id.ts";
import type { JobAudit } from "../../../../verify/audit-job.ts";
import type { JobEvidence } from "../../../../verify/evidence.ts";
import type { ChainLog, ChainTransaction } from "../../../../web/contract.ts";
import {
  auditAddresses,
  decodeCall,
  decodeCallOf,
  decodeTransactions,
  eventsOfJob,
  groupsOf,
} from "../../../../web/src/explorer/decode.ts";
import { hashOf, placesNamed, placesOf } from "../../../../web/src/explorer/find.ts";
import { arrowsOf } from "../../../../web/src/explorer/flow.ts";
import { verdictOf } from "../../../../web/src/explorer/verdict.ts";

const at = (byte: string): Address => getAddress(`0x${byte.repeat(20)}`);
const [ESCROW, TREASURY, STABLECOIN, WALLET, WORKER] = ["e5", "7e", "5c", "aa", "b0"].map(at) as [
  Address,
  Address,
  Address,
  Address,
  Address,
];
const CONTRACTS = {
  InferenceEscrow: ESCROW,
  ProtocolTreasury: TREASURY,
  Stablecoin: STABLECOIN,
  ModelCatalog: at("ca"),
  WorkerRegistry: at("4e"),
  ArbitrationPanel: at("9a"),
  ServiceToken: at("5e"),
};
const HASH = `0x${"ab".repeat(32)}` as Hex;
const jobs = [newJobId(), newJobId()] as const;

/** A log as the node returns it. */
function log(index: number, address: Address, abi: Abi, eventName: string, args: Record<string, unknown>): ChainLog {
  const event = abi.find((item) => item.type === "event" && item.name === eventName);
  if (event?.type !== "event") throw new Error(`no event ${eventName}`);
  const rest = event.inputs.filter(({ indexed }) => !indexed);
  const data = encodeAbiParameters(
    rest,
    rest.map(({ name }) => args[name ?? ""]),
  );
  const topics = encodeEventTopics({ abi, eventName, args } as never) as Hex[];
  return { address, topics, data, log_index: index };
}

const transfer = (index: number, to: Address, value: bigint) =>
  log(index, STABLECOIN, erc20Abi, "Transfer", { from: ESCROW, to, value });
/** A job of model 5 for operator 3, at 8 and 4 credits and a fee of 10 %; its account has 900 free credits. `share`: the operator's, twentieths. */
const locked = (index: number, jobId: Hex, share = 0n) => {
  const job =
    (3n << 232n) | (share << 156n) | (1_000n << 144n) | (5n << 128n) | (4n << 112n) | (8n << 96n) | (16n << 64n);
  return log(index, ESCROW, inferenceEscrowAbi, "JobLocked", {
    jobId,
    wallet: WALLET,
    tier: 1,
    credits: 16,
    job,
    account: 900n << 32n,
  });
};
const settled = (index: number, jobId: Hex) =>
  log(index, ESCROW, inferenceEscrowAbi, "JobSettled", {
    jobId,
    wallet: WALLET,
    worker: WORKER,
    proofHash: HASH,
    credits: 12,
    usage: (1_700_000_000n << 160n) | (3_000n << 128n) | (12_400n << 96n) | (3_100n << 32n) | 7n,
    r: HASH,
    vs: HASH,
    account: 904n << 32n,
  });
const transaction = (hash: string, block: number, logs: ChainLog[]): ChainTransaction => ({
  hash: `0x${hash.repeat(32)}`,
  status: "success",
  from: at("61"),
  to: ESCROW,
  block_number: block,
  timestamp: 1_700_000_000,
  gas_used: 1,
  fee_wei: "1",
  nonce: 0,
  position: 0,
  gas_limit: 2,
  gas_price_wei: "1",
  input: null,
  reverted: null,
  logs,
});

const locks = transaction("01", 1, [locked(0, jobs[0]), locked(1, jobs[1])]);
// 12 credits each: 108,000 units for the worker; the treasury has 12,000 of each at the end.
const settlements = transaction("02", 2, [
  settled(0, jobs[0]),
  transfer(1, WORKER, 108_000n),
  settled(2, jobs[1]),
  transfer(3, WORKER, 108_000n),
  transfer(4, TREASURY, 24_000n),
]);

const tokens = (arrows: ReturnType<typeof arrowsOf>) =>
  arrows.filter(({ unit }) => unit !== "credits").map(({ to, amount, why }) => [to.role, amount, why]);

/** The batch that a gateway sends for these settlements. */
const item = (jobId: Hex) =>
  encodeFunctionData({
    abi: inferenceEscrowAbi,
    functionName: "complete",
    args: [
      {
        jobId,
        proofHash: HASH,
        promptTokens: 7,
        completionTokens: 3_100,
        reasoningTokens: 0,
        textBytes: 12_400,
        completedAt: 1_700_000_000,
      },
      3_000,
      { r: HASH, vs: HASH },
      WALLET,
    ],
  });
const batch = (items: Hex[]) => encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "execute", args: [items] });

describe("a batch's calls and events by job", () => {
  it("gives each job its call and events, the treasury's transfer to none", () => {
    const call = decodeCall(batch(jobs.map(item)));
    const [{ events } = { events: [] }] = decodeTransactions([settlements], CONTRACTS);
    const groups = groupsOf(call, events, CONTRACTS).map(({ jobId, calls, events }) => [
      jobId,
      calls.map(({ name }) => name),
      events.map(({ name }) => name),
    ]);
    expect(groups).toEqual([
      [toApiJobId(jobs[0]), ["complete"], ["JobSettled", "Transfer"]],
      [toApiJobId(jobs[1]), ["complete"], ["JobSettled", "Transfer"]],
      [null, [], ["Transfer"]],
    ]);
  });

  it("an item that reverted alone is of its job, with the contract's answer", () => {
    const failed = log(0, ESCROW, inferenceEscrowAbi, "BatchItemFailed", {
      index: 1n,
      selector: "0x12345678",
      reason: "0x01",
    });
    const [{ events } = { events: [] }] = decodeTransactions([transaction("03", 3, [failed])], CONTRACTS);
    const groups = groupsOf(decodeCall(batch(jobs.map(item))), events, CONTRACTS);
    expect(groups.map(({ jobId, calls }) => [jobId, calls[0]?.failed ?? null])).toEqual([
      [toApiJobId(jobs[0]), null],
      [toApiJobId(jobs[1]), "0x01"],
      [null, null],
    ]);
  });

  it("bytes that are no call of ours, and a batch in a batch, are not decoded", () => {
    expect(decodeCall("0xdeadbeef")).toBe(null);
    const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [WALLET, 10n ** 18n] });
    const units = ["ServiceToken", "Stablecoin"].map((name) => decodeCallOf(name, data)?.fields[1]?.unit);
    expect(units).toEqual(["SVC base units", "stablecoin units"]);
    expect(decodeCall(batch(["0xdeadbeef", batch([item(jobs[0])]), "0x"]))?.items).toEqual([null, null, null]);
  });
});

describe("what somebody looks for", () => {
  const job = jobs[0].slice(2);
  const hash = "AB".repeat(32);

  it.each([
    [`job_${job}`, [`/app/jobs/job_${job}`]],
    [` chatcmpl-job_${job} `, [`/app/jobs/job_${job}`]],
    [`0X${job.toUpperCase()}`, [`/app/jobs/job_${job}`]],
    [WALLET, [`/app/address/${WALLET.toLowerCase()}`]],
    [WALLET.slice(2).toUpperCase(), [`/app/address/${WALLET.toLowerCase()}`]],
    ["12,345", ["/app/block/12345", "/app/workers/12345", "/app/operators/12345"]],
    ["Worker 3", ["/app/workers/3"]],
    ["block #7", ["/app/block/7"]],
    ["99999999999", []],
    ["../settings", []],
    ["", []],
  ])("'%s' leads to %j", (text, paths) => {
    expect(placesOf(text).map(({ path }) => path)).toEqual(paths);
  });

  it.each([hash, `0x${hash}`, `sha256:${hash}`, ` 0X${hash.toLowerCase()} `])("'%s' is a hash", (text) => {
    expect(hashOf(text)).toBe(`0x${hash.toLowerCase()}`);
  });

  it("a name leads to models and contracts that have it", () => {
    const names = { contracts: CONTRACTS, models: ["qwen3-8b", "a/b?c"] };
    expect(placesNamed("ESCROW", names).map(({ path }) => path)).toEqual([`/app/address/${ESCROW}`]);
    expect(placesNamed("a/b", names).map(({ path }) => path)).toEqual(["/app/models/a%2Fb%3Fc"]);
  });
});

describe("a batch of two settlements", () => {
  it("shows both payouts and one transfer to the treasury on its page", () => {
    const events = decodeTransactions([settlements], CONTRACTS).flatMap((one) => one.events);
    expect(tokens(arrowsOf(events, CONTRACTS))).toEqual([
      ["Worker", 108_000n, "paid for the job"],
      ["Worker", 108_000n, "paid for the job"],
      ["Treasury", 24_000n, "treasury's share of the fee of 2 jobs"],
    ]);
  });

  it.each(jobs)("on the page of job %s: its own payout, and its share of the treasury's transfer", (jobId) => {
    const events = decodeTransactions([locks, settlements], CONTRACTS).flatMap((one) =>
      eventsOfJob(one.events, toApiJobId(jobId), CONTRACTS),
    );
    expect(events.map(({ name }) => name)).toEqual(["JobLocked", "JobSettled", "Transfer", "Transfer"]);
    const arrows = arrowsOf(events, CONTRACTS);
    expect(tokens(arrows)).toEqual([
      ["Worker", 108_000n, "paid for the job"],
      [
        "Treasury",
        12_000n,
        "treasury's share of the fee, within one transfer of 0.024 USDG for all jobs of the transaction",
      ],
    ]);
    expect(arrows.filter(({ unit }) => unit === "credits").map(({ amount, why }) => [amount, why])).toEqual([
      [16n, "locked for the job"],
      [12n, "charged"],
      [4n, "returned: cheaper than the lock"],
    ]);
  });

  it("shows the packed words as fields, and the charge split by the fee of the lock", () => {
    const [lock, settlement] = decodeTransactions([locks, settlements], CONTRACTS).map(({ events }) => events[0]);
    const shown = (event: typeof lock) =>
      Object.fromEntries(event?.fields.map(({ name, value }) => [name, value]) ?? []);
    expect(shown(lock)).toMatchObject({ operator: 3, model: 5, creditsPerRequest: 8, feeBps: 1_000, free: 900 });
    expect(shown(settlement)).toMatchObject({
      promptTokens: 7,
      completionTokens: 3_100,
      billedTokens: 3_000,
      completedAt: 1_700_000_000,
      free: 904,
      workerUnits: 108_000n,
      treasuryUnits: 12_000n,
      returned: 4,
    });
  });
});

describe("a fee of which the operator has a part", () => {
  it("is said in per cent at a job's lock, and in its parts at the settlement", () => {
    const lock = transaction("01", 1, [locked(0, jobs[0], 10n)]);
    const decoded = decodeTransactions([lock, transaction("02", 2, [settled(0, jobs[0])])], CONTRACTS);
    const [locks, settlement] = decoded.map(({ events }) => events[0]?.fields ?? []);
    expect(locks?.find(({ name }) => name === "operatorShare")?.text).toBe("50 % of the fee");
    expect(settlement).toContainEqual(expect.objectContaining({ name: "operatorUnits", value: 6_000n }));
  });

  it("is said in per cent in the call that announces it", () => {
    const data = encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "scheduleFee", args: [1_010, 7] });
    expect(decodeCallOf("InferenceEscrow", data)?.fields.map(({ text }) => text)).toEqual([
      "10.1 %",
      "35 % of the fee",
    ]);
  });
});

describe("the verdict on a job", () => {
  const windows = { completion: 120, inclusion: 30, dispute: 60, finalization: 3_600 };
  /** Block 1 is 10 s before the answer was signed, block 2 is 5 s after it. */
  const timeOf = (block: bigint) => 1_700_000_000 + (block === 1n ? -10 : 5);
  const audit = {
    status: "settled",
    open: false,
    credits_locked: 16,
    credits_charged: 12,
    billed_tokens: 3_000,
    credits_per_request: 8,
    credits_per_1k_tokens: 4,
    fee_bps: 1_000,
    operator_share: 0,
    settlement_tx: settlements.hash,
    proof_hash: HASH,
    holds: true,
    checks: [
      "lock.word",
      "settlement.charge",
      "payout.fee",
      "proof.signature",
      "proof.time",
      "state.order",
      "new.check",
    ].map((id) => ({ id, holds: true, says: `${id} is right` })),
  } as unknown as JobAudit;
  const verdict = (transactions: readonly ChainTransaction[], changed: Partial<JobAudit> = {}) => {
    const events = decodeTransactions(transactions, CONTRACTS).flatMap((one) =>
      one.events.flatMap((e) => e.audited ?? []),
    );
    const addresses = auditAddresses(CONTRACTS);
    const evidence = { jobId: jobs[0], events, addresses, windows, timeOf } as unknown as JobEvidence;
    return verdictOf(evidence, { ...audit, ...changed });
  };

  it("has each check in one line, with the events of this job alone that it rests on", () => {
    const { lines, headline } = verdict([locks, settlements]);
    expect(headline).toBe(
      "Charge correct: 12 credits, max(8, ⌈3,000 × 4 ÷ 1,000⌉); 90 % to the worker, 10 % to the treasury.",
    );
    expect(lines.map(({ title, checks }) => [title, checks.map(({ id }) => id)])).toEqual([
      ["Charge", ["settlement.charge"]],
      ["Split", ["payout.fee"]],
      ["Signatures", ["proof.signature"]],
      ["Lock", ["lock.word"]],
      ["Times", ["proof.time"]],
      ["Account", ["state.order", "new.check"]],
    ]);
    const split = lines.find(({ title }) => title === "Split");
    // The job's own payout, and the one transfer to the treasury for both jobs.
    expect(split?.events.map(({ name, logIndex }) => [name, logIndex])).toEqual([
      ["JobSettled", 0],
      ["Transfer", 1],
      ["Transfer", 4],
    ]);
    expect(lines.find(({ title }) => title === "Lock")?.events.map(({ logIndex }) => logIndex)).toEqual([0]);
    expect(lines.find(({ title }) => title === "Times")?.says).toBe(
      "Locked before the work, answered after 10 s, settled after 15 s",
    );
  });

  it("says the operator's part of the fee, in numbers without a tail", () => {
    const split = verdict([locks, settlements], { fee_bps: 1_010, operator_share: 7 }).headline.split("; ")[1];
    expect(split).toBe("89.9 % to the worker, 3.535 % to the operator, 6.565 % to the treasury.");
  });

  it("calls no charge correct on which arbiters still rule", () => {
    expect(verdict([locks, settlements], { status: "disputed" }).headline).toMatch(/^Charge in dispute: 12 credits/);
  });

  it("calls a charge given back that a dispute undid, and says how much came back", () => {
    const account = { jobId: jobs[0], wallet: WALLET, free: 1, escrowed: 0 };
    const charged = (index: number, payee: Address, amount: number) =>
      log(index, ESCROW, inferenceEscrowAbi, "OperatorCharged", { ...account, payee, credits: amount });
    const compensated = log(3, ESCROW, inferenceEscrowAbi, "Compensated", {
      ...account,
      payee: WALLET,
      paid: 25_000n,
      owed: 0n,
      capped: true,
    });
    const logs = [charged(1, WALLET, 9), charged(2, WORKER, 4), compensated];
    const refunded = { status: "refunded" } as const;
    const ended = verdict([locks, settlements, { ...settlements, logs }], refunded);
    expect(ended.givenBack).toBe(115_000n);
    expect(ended.headline).toMatch(/^11\.5 credits came back: a dispute .* favour\. The charge was 12 credits, max/);
    expect(verdict([locks, settlements], refunded).headline).toMatch(/^The charge is to come back: a dispute/);
  });

  it("says first which line does not hold, and why", () => {
    const checks = audit.checks.map((check) =>
      check.id === "proof.signature" ? { ...check, holds: false, says: "another key signed it" } : check,
    );
    const { lines, headline } = verdict([locks, settlements], { holds: false, checks });
    expect(headline).toMatch(/does not fit together. Look at: signatures\./);
    expect(lines[0]).toMatchObject({ title: "Signatures", holds: false, says: "Another key signed it" });
  });

  it("shows lock, signature and settlement in order, and when the dispute closes", () => {
    const { moments, deadline } = verdict([locks, settlements]);
    expect(moments.map(({ title, at }) => [title, at - 1_700_000_000])).toEqual([
      ["Locked", -10],
      ["Answered and signed", 0],
      ["Settled", 5],
    ]);
    expect(deadline).toEqual({ title: "The wallet can dispute until", at: 1_700_000_095, tx: null });
  });

  it("splits all of the lock among worker, treasury and wallet", () => {
    expect(verdict([locks, settlements]).shares).toEqual([
      { to: "Worker", units: 108_000n },
      { to: "Treasury", units: 12_000n },
      { to: "Returned", units: 40_000n },
    ]);
  });

  it("tells the operator's part of the fee from the treasury's", () => {
    const { shares, headline } = verdict([locks, settlements], { operator_share: 10 });
    expect(shares.map(({ to, units }) => [to, units])).toEqual([
      ["Worker", 108_000n],
      ["Operator", 6_000n],
      ["Treasury", 6_000n],
      ["Returned", 40_000n],
    ]);
    expect(headline).toContain("90 % to the worker, 5 % to the operator, 5 % to the treasury");
  });

  it("of one that runs names what is held, and when it comes back", () => {
    const open = {
      status: "pending",
      open: true,
      credits_charged: 0,
      billed_tokens: null,
      settlement_tx: null,
    } as const;
    const { shares, deadline, headline } = verdict([locks], open);
    expect(shares).toEqual([{ to: "Held in escrow", units: 160_000n }]);
    expect(deadline).toMatchObject({ title: "Refund, if unanswered", at: 1_700_000_110 });
    expect(headline).toBe("16 credits are locked; nothing is charged yet.");
  });
});
