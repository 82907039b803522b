/** Audits of a chain on which everything happened: what is honest holds, and of what is not each field is named. */
import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeAccountWord, decodeJobWord, decodeUsageWord } from "../../../protocol/words.ts";
import { auditJob } from "../../../verify/audit-job.ts";
import {
  auditBlocks,
  beginRange,
  concludeRange,
  type RangeAudit,
  type RangeProgress,
} from "../../../verify/audit-range.ts";
import { Chain as Node } from "../../../verify/chain.ts";
import type { Check } from "../../../verify/checks.ts";
import { type AnyEvent, isBefore, jobOfEvent } from "../../../verify/events.ts";
import { decodeProgress, encodeProgress, verifyRange } from "../../../verify/range.ts";
import { EvidenceReader } from "../../../verify/reader.ts";
import type { Chain } from "../../indexer/support/chain.ts";
import { deployedChain } from "../../indexer/support/deploy.ts";
import { everything, type Story } from "../../indexer/support/everything.ts";
import { World } from "../../indexer/support/world.ts";
import { temporaryFolder } from "../../support/processes.ts";
import { type ChainLog, isConfiguration, jobEvidence, rangeEvidence, readChain } from "./support/chain-log.ts";

let chain: Chain;
let log: ChainLog;
let story: Story;
const folder = temporaryFolder();

beforeAll(async () => {
  const deployed = await deployedChain(folder.path);
  chain = deployed.chain;
  const world = new World(chain, deployed.deployment);
  story = await everything(world);
  log = await readChain(world);
});
afterAll(async () => {
  await chain?.stop("SIGKILL");
  folder.remove();
});

const failing = (checks: readonly Check[]) =>
  checks.filter(({ holds }) => !holds).map(({ id, says }) => `${id}: ${says}`);

describe("an honest chain", () => {
  it("holds for every job, in the log and on the node", async () => {
    const { escrow } = log.addresses;
    const reader = await EvidenceReader.begin(await Node.open({ rpcUrl: chain.url, escrow, span: 10_000n }));
    const statuses: Record<string, [status: string, open: boolean]> = {};
    for (const [name, jobId] of Object.entries(story)) {
      for (const evidence of [jobEvidence(log, jobId), await reader.job(jobId, null)]) {
        const { checks, status, open } = await auditJob(evidence);
        expect([name, failing(checks)]).toEqual([name, []]);
        statuses[name] = [status, open];
      }
    }
    expect(statuses).toMatchObject({
      open: ["pending", true],
      failed: ["failed", false],
      refunded: ["refunded", false],
      rejected: ["settling", true],
      contested: ["disputed", true],
      guilty: ["refunded", false],
      authorized: ["settled", expect.any(Boolean)],
    });
    const { checks } = await verifyRange(reader, { from: 0n, to: reader.chain.head });
    expect(failing(checks)).toEqual([]);
  });

  it("is the same with the block of a job's lock given, or a wrong one", async () => {
    const { escrow } = log.addresses;
    const reader = await EvidenceReader.begin(await Node.open({ rpcUrl: chain.url, escrow }));
    const looked = await reader.job(story.authorized, null);
    const { block } = looked.events.find(({ name }) => name === "JobLocked") as AnyEvent;
    for (const near of [block, reader.chain.head, reader.chain.head + 9n, 0n]) {
      const { events } = await reader.job(looked.jobId, null, { near });
      expect(events, `near ${near}`).toEqual(looked.events);
    }
  });

  it("holds as a whole", () => {
    const { checks, jobs } = auditWhole(log.all);
    expect(failing(checks)).toEqual([]);
    expect(jobs.touched).toBe(Object.keys(story).length);
  });

  it("says the same when it is looked at block by block, and stored in between", () => {
    expect(inPieces(log.all)).toEqual(auditWhole(log.all));
  });
});

/** The audit of the whole chain at once. */
function auditWhole(all: readonly AnyEvent[]): RangeAudit {
  const whole = rangeEvidence(log, all);
  const progress = beginRange(whole.from, whole.opening);
  auditBlocks(progress, whole);
  return concludeRange(progress, whole.closing);
}

/** The audit of the whole chain, each block a piece of its own that begins with what was stored after the one before. */
function inPieces(all: readonly AnyEvent[]): RangeAudit {
  const whole = rangeEvidence(log, all);
  let progress = beginRange(whole.from, whole.opening);
  for (const [block, events] of Map.groupBy(whole.events, (event) => event.block)) {
    const known = new Set(Object.keys(progress.open));
    const locked = new Set(events.filter(({ name }) => name === "JobLocked").map(jobOfEvent));
    const jobs = new Set(events.map(jobOfEvent).filter((job) => job !== null && !known.has(job) && !locked.has(job)));
    // The reader asks for jobs that were over.
    const earlier = whole.events.filter((event) => event.block < block && jobs.has(jobOfEvent(event)));
    auditBlocks(progress, { ...whole, from: block, to: block, events, earlier });
    progress = decodeProgress(encodeProgress(progress)) as RangeProgress;
  }
  return concludeRange({ ...progress, next: whole.to + 1n }, whole.closing);
}

/** Packed words of an event's arguments, and the name that a wrong field of them has. */
const WORDS: Record<string, { read: (word: bigint) => object; name: (event: string, field: string) => string }> = {
  job: { read: decodeJobWord, name: (event, field) => `${event}.job.${field}` },
  account: { read: decodeAccountWord, name: (event, field) => `${event}.account.${field}` },
  usage: { read: decodeUsageWord, name: (event, field) => `${event}.${field}` },
};

type Lie = { named: string; args: Record<string, unknown> };

/** The event with one of its arguments changed, for each of them. */
function liesOf({ name, args }: AnyEvent): Lie[] {
  const stated = args as Record<string, unknown>;
  return Object.entries(stated).flatMap(([field, value]): Lie[] => {
    const word = WORDS[field];
    if (word !== undefined && typeof value === "bigint") {
      // The lowest bit of each field is the one that makes it 1.
      return Object.keys(word.read(0n)).map((part) => {
        const bit = [...Array(256).keys()].find(
          (n) => (word.read(1n << BigInt(n)) as Record<string, number>)[part] === 1,
        );
        return { named: word.name(name, part), args: { ...stated, [field]: value ^ (1n << BigInt(bit ?? 0)) } };
      });
    }
    return field === "jobId" ? [] : [{ named: `${name}.${field}`, args: { ...stated, [field]: changed(value) } }];
  });
}

function changed(value: unknown): unknown {
  if (typeof value === "number") return value ^ 1;
  if (typeof value === "bigint") return value ^ 1n;
  if (typeof value === "boolean") return !value;
  const hex = value as Hex;
  return `${hex.slice(0, -1)}${hex.endsWith("0") ? "1" : "0"}`;
}

/** What no other event or call of the job tells: numbers of the treasury's own, and what its operator earned by other jobs of the day. */
const UNTOLD = ["CompensationPaid.sequence", "EarningsChanged.units"];

describe("a lie about a job", () => {
  const names = [
    "fused",
    "slow",
    "failed",
    "refunded",
    "deferred",
    "reassigned",
    "batchedFirst",
    "authorized",
    "guilty",
    "joined",
    "hidden",
    "indebted",
    "rejected",
    "doubted",
    "expired",
    "contested",
    "equivocatedOpen",
    "equivocatedDoubted",
    "equivocatedDisputed",
    "equivocatedProven",
    "equivocatedSettled",
    "earning",
    "earningRejected",
    "earningExpired",
    "earningEquivocated",
  ] as const;
  /** Where an event stands in a job's story: two stories that agree up to there are audited alike, and its lies are told once. */
  const seen = new Set<string>();
  it.each(names)("%s: each wrong field of each event is named", async (name) => {
    const jobId = story[name];
    const missed: string[] = [];
    let before = "";
    for (const event of log.all.filter((one) => jobOfEvent(one) === jobId)) {
      before += ` ${event.name}`;
      if (seen.has(before)) continue;
      seen.add(before);
      for (const { named, args } of liesOf(event)) {
        if (UNTOLD.includes(named)) continue;
        const lied = log.all.map((one) => (one === event ? { ...event, args } : one));
        const { checks } = await auditJob(jobEvidence(log, jobId, lied));
        const found = failing(checks);
        // A payout that is not as it must be is told by what it must be.
        const told =
          event.name === "PayoutDeferred" ? found.length > 0 : found.some((says) => says.includes(`${named} `));
        if (!told) missed.push(`${named}: ${found.join(" | ") || "nothing fails"}`);
      }
    }
    expect(missed).toEqual([]);
  });
});

describe("what is missing", () => {
  it.each([
    "fused",
    "slow",
    "failed",
    "authorized",
    "guilty",
    "joined",
    "hidden",
    "indebted",
    "doubted",
    "expired",
    "rejected",
    "equivocatedSettled",
    "earningRejected",
    "earningExpired",
    "earningEquivocated",
  ] as const)("%s: no event can be left out", async (name) => {
    const jobId = story[name];
    const unnoticed: string[] = [];
    // A vote of the minority changes nothing, and a debt can have been paid later than the last event that tells of it.
    const last = log.all.findLast((one) => jobOfEvent(one) === jobId);
    const harmless = (event: AnyEvent) => event.name === "Voted" || (event === last && event.name === "Compensated");
    const own = log.all.filter((one) => jobOfEvent(one) === jobId && one.contract !== "treasury");
    for (const event of own.filter((one) => one.name !== "JobLocked")) {
      const { holds } = await auditJob(
        jobEvidence(
          log,
          jobId,
          log.all.filter((one) => one !== event),
        ),
      );
      if (holds && !harmless(event)) unnoticed.push(event.name);
    }
    expect(unnoticed).toEqual([]);
  });
});

describe("what was in force", () => {
  const other = "0x00000000000000000000000000000000000000aa";
  it.each<[event: string, job: keyof Story, check: string, change: Record<string, unknown>]>([
    ["SignerAdded", "fused", "lock.operator", { signer: other }],
    ["Deposited", "fused", "lock.choice", { operator: 2 }],
    ["AuthorizationKeySet", "authorized", "lock.authorization", { key: other }],
    ["AuthorizationKeySet", "authorized", "lock.authorization", { key: `0x${"0".repeat(40)}` }],
    ["DisputeKeySet", "rejected", "dispute.key", { key: other }],
    ["DisputeKeySet", "expired", "dispute.key", { key: `0x${"0".repeat(40)}` }],
    ["DisputeKeySet", "rejected", "dispute.key", { sequence: 1 }],
    ["FeeScheduled", "fused", "lock.fee", { feeBps: 999 }],
    ["FeeScheduled", "earning", "lock.fee", { operatorShare: 9 }],
    ["TreasurySet", "earningExpired", "operator.earnings", { treasury: other }],
    ["TreasurySet", "fused", "payout.fee", { treasury: other }],
    ["WorkerRegistered", "fused", "payout.worker", { payout: other }],
    ["HostingSet", "fused", "proof.worker", { models: [6] }],
    ["StakeTermsScheduled", "guilty", "slash.amount", { slashAmount: 1n, minimumStake: 1n }],
    ["ArbitersSet", "guilty", "dispute.quorum", { quorum: 3 }],
    ["CompensationCapSet", "guilty", "compensation.cap", { credits: 7 }],
    // A quarter of the cap is for one operator's jobs.
    ["CompensationCapSet", "guilty", "compensation.cap", { credits: 31 }],
  ])("another %s: %s fails in %s", async (name, job, check, change) => {
    const lied = log.all.map((one) =>
      one.name === name ? { ...one, args: { ...(one.args as object), ...change } } : one,
    );
    const { checks } = await auditJob(jobEvidence(log, story[job], lied));
    expect(checks.filter(({ holds }) => !holds).map(({ id }) => id)).toContain(check);
  });
});

describe("an event that decides what was in force", () => {
  const numbered = (event: AnyEvent): boolean => {
    const { sequence, set } = event.args as { sequence?: number; set?: number };
    return isConfiguration(event) && (sequence ?? set) !== undefined;
  };
  const told = async (all: readonly AnyEvent[]) => [
    ...failing((await auditJob(jobEvidence(log, story.fused, all))).checks),
    ...failing(auditWhole(all).checks),
  ];

  it("with another number is named, in the audit of a job and of the whole", async () => {
    const [locked] = log.all.filter((one) => jobOfEvent(one) === story.fused);
    const missed: string[] = [];
    const events = log.all.filter((event) => numbered(event) && isBefore(event, locked as AnyEvent));
    for (const event of events) {
      const field = "set" in (event.args as object) ? "set" : "sequence";
      const args = { ...(event.args as Record<string, number>) };
      args[field] = (args[field] ?? 0) + 7;
      const found = await told(log.all.map((one) => (one === event ? { ...event, args } : one)));
      const named = found.filter((says) => says.includes(`${event.name}.${field} is ${args[field]}`));
      if (named.length < 2) missed.push(`${event.name}: ${found.join(" | ")}`);
    }
    expect(missed).toEqual([]);
  });

  it("cannot be left out, but for the last of its subject", () => {
    const unnoticed: string[] = [];
    for (const event of log.all.filter(numbered)) {
      const { checks } = auditWhole(log.all.filter((one) => one !== event));
      if (!failing(checks).some((says) => says.startsWith("configuration.history"))) unnoticed.push(event.name);
    }
    // The last of eight models, two operators, a worker, the stake's terms, the arbiters and the administration.
    expect(unnoticed, unnoticed.join()).toHaveLength(14);
  });
});

describe("a lie about the whole", () => {
  it("each wrong field of accounts, payees, reserves and earnings is named", () => {
    const names = [
      "Deposited",
      "Withdrawn",
      "OperatorChosen",
      "LimitsSet",
      "AuthorizationKeySet",
      "DisputeKeySet",
      "PayoutClaimed",
      "ReserveChanged",
      "EarningsChanged",
      "EarningsWithdrawn",
    ];
    // What a wallet chose is its own word: the next event that states its whole account shows a lie about it. Whose event it is says the
    // wallet; nothing is there before the first deposit and the first claim.
    // Days without earnings can stand at both ends of a withdrawal.
    const chosen = /\.(operator|limited|dailyLimit|frozen|key|mostOpen|wallet|firstDay|lastDay)$/;
    const first = ["Deposited.account", "PayoutClaimed.sequence"];
    const missed: string[] = [];
    const compared = new Set<string>();
    for (const event of log.all.filter(({ name }) => names.includes(name))) {
      for (const { named, args } of liesOf(event)) {
        const lied = log.all.map((one) => (one === event ? { ...event, args } : one));
        const found = failing(auditWhole(lied).checks);
        // Wallet by wallet, or in the order of the chain: once for each field.
        if (!compared.has(named))
          expect([named, failing(inPieces(lied).checks).sort()]).toEqual([named, found.toSorted()]);
        compared.add(named);
        if (!found.some((says) => says.includes(`${named} `)) && !chosen.test(named) && !first.includes(named))
          missed.push(`${named}: ${found.join(" | ")}`);
      }
    }
    expect(missed).toEqual([]);
  });
});
