/** A job's row: its steps, who may write them, and what a reorganisation takes back. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { pino } from "pino";
import { type Address, type Hex, zeroAddress } from "viem";
import { afterAll, describe, expect, it } from "vitest";
import { signerLockKey } from "../../../api/chain/signer-lock.ts";
import { insertJobs, JobLost, JobStore, newJobsJson, type SignedCompletion } from "../../../api/db/jobs.ts";
import { openDatabase } from "../../../api/db/pool.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import { ownDatabase } from "../../support/database.ts";

const HASH: Hex = `0x${"0c".repeat(32)}`;
const WALLET: Address = `0x${"11".repeat(20)}`;
const [ONE, TWO] = [`0x${"a1".repeat(20)}`, `0x${"a2".repeat(20)}`] as [Address, Address];

const { pool, url } = await ownDatabase();
afterAll(() => pool.end());

/** A process with that signer. */
const process = (gateway: Address, operator = 1) => new JobStore(pool, { gateway, operator });

/** New jobs of a process, their locks on their way. */
async function add(store: JobStore, count = 1, repeatable = true): Promise<Hex[]> {
  const row = {
    wallet: WALLET,
    model: "m",
    tier: "lite",
    validUntil: 1_900_000_000,
    creditsLocked: 8,
    maxTokens: 100,
  } as const;
  const jobs = Array.from({ length: count }, () => store.newJob({ jobId: newJobId(), ...row, repeatable }));
  await pool.query(insertJobs("$1"), [newJobsJson(jobs)]);
  return jobs.map(({ jobId }) => jobId);
}
async function one(store: JobStore): Promise<Hex> {
  return (await add(store))[0] as Hex;
}

const answer = (jobId: Hex, n = 5) => ({
  jobId,
  worker: WALLET,
  attempt: 1,
  acknowledgement: null,
  completion: {
    completion: { jobId, proofHash: HASH, completedAt: n },
    signature: HASH,
  } as unknown as SignedCompletion,
  countedTokens: n,
  finalTokenAt: new Date(n * 1000),
  creditsCharged: n,
  output: n % 2 === 0 ? Buffer.from(`answer ${n}`) : null,
  retentionHours: 1,
});
const taken = (jobId: Hex) => ({ jobId, worker: WALLET, attempt: 1, acknowledged: true });
const settlement = {
  state: "settled",
  settlementTx: HASH,
  settlementBlock: 7,
  settledAt: 8,
  creditsCharged: 9,
} as const;

describe("the steps of a job", () => {
  it("of many jobs at once keep their own values, whatever order they come in", async () => {
    const store = process(ONE);
    const ids = await add(store, 120);
    // Two statements over the same rows in opposite orders would wait for each other for ever.
    await Promise.all([
      ...ids.map((jobId, n) => store.locked({ jobId, escrowTx: HASH, lockedAt: n, credits: n })),
      ...ids.toReversed().map((jobId) => store.taken(taken(jobId))),
      ...ids.map((jobId, n) => store.answered(answer(jobId, n))),
    ]);
    await Promise.all(ids.toReversed().map((jobId) => store.ended({ jobId, ...settlement })));
    const jobId = ids[101] as Hex;
    expect(await store.find(jobId)).toMatchObject({
      ...settlement,
      escrowTx: HASH,
      lockedAt: 101,
      creditsLocked: 101,
      worker: WALLET,
      attempt: 1,
      countedTokens: 101,
      completion: answer(jobId, 101).completion,
      finalTokenAt: new Date(101_000),
    });
    expect(await store.output(ids[100] as Hex)).toEqual(Buffer.from("answer 100"));
    expect(await store.output(jobId)).toBeNull();
  });

  it("an acknowledgement written late takes nothing back from a finished job", async () => {
    const store = process(ONE);
    const jobId = await one(store);
    await store.taken({ ...taken(jobId), acknowledged: false });
    expect(await store.find(jobId)).toMatchObject({ state: "locking", worker: WALLET });
    await store.locked({ jobId, escrowTx: HASH, lockedAt: 1, credits: 8 });
    expect((await store.find(jobId))?.state).toBe("pending");
    await store.taken(taken(jobId));
    expect((await store.find(jobId))?.state).toBe("processing");
    await store.answered(answer(jobId));
    await store.taken({ ...taken(jobId), worker: zeroAddress, attempt: 9 });
    expect(await store.find(jobId)).toMatchObject({ state: "settling", worker: WALLET, attempt: 1 });
    await store.ended({ jobId, ...settlement });
    await store.taken(taken(jobId));
    await store.answered(answer(jobId));
    expect((await store.find(jobId))?.state).toBe("settled");
  });

  it("an acknowledgement that is written before the lock is not lost", async () => {
    const store = process(ONE);
    const jobId = await one(store);
    await store.taken(taken(jobId));
    await store.locked({ jobId, escrowTx: HASH, lockedAt: 1, credits: 8 });
    expect(await store.find(jobId)).toMatchObject({ state: "processing", escrowTx: HASH, worker: WALLET });
  });

  it("what a client was sent is written with the job's end, at once on a stop", async () => {
    const store = process(ONE);
    const [settled, open, stopping] = (await add(store, 3)) as [Hex, Hex, Hex];
    const sent = { sentHash: HASH, sentCharacters: 9, sentComplete: true };
    const left = [store.left({ jobId: settled, ...sent }), store.left({ jobId: open, ...sent })];
    await store.ended({ jobId: settled, ...settlement });
    expect(await store.find(settled)).toMatchObject({ state: "settled", ...sent });
    await Promise.all(left);
    expect(await store.find(open)).toMatchObject({ state: "locking", ...sent });
    const waiting = store.left({ jobId: stopping, ...sent });
    store.writeLeaves();
    await waiting;
    expect(await store.find(stopping)).toMatchObject(sent);
  });

  it("the first reason why a client got an error stays", async () => {
    const store = process(ONE);
    const jobId = await one(store);
    await store.refused({ jobId, reason: "worker_failed", why: "the worker broke off" });
    await store.refused({ jobId, reason: "timeout", why: "job_timeout" });
    await store.ended({ jobId, state: "failed", refundTx: HASH, failure: "something else" });
    expect(await store.find(jobId)).toMatchObject({
      state: "failed",
      failure: "the worker broke off",
      failureReason: "worker_failed",
    });
  });
});

it("a job whose worker took it after refusing it says so, whatever it was refused for before", async () => {
  const store = process(ONE);
  const [jobId] = (await add(store, 1)) as [Hex];
  await store.refused({ jobId, reason: "timeout", why: "job_timeout" });
  await store.refused({ jobId, reason: "worker_failed", why: "took_refused" });
  await store.refused({ jobId, reason: "worker_failed", why: "the worker broke off" });
  expect(await store.find(jobId)).toMatchObject({ failure: "took_refused", failureReason: "timeout" });
});

describe("a row belongs to one process", () => {
  const lost = expect.objectContaining({ name: "JobLost" });

  it("a process that starts again with the same signer takes over its rows", async () => {
    const [before, after] = [process(ONE), process(ONE)];
    const [jobId, ended] = (await add(before, 2)) as [Hex, Hex];
    await before.ended({ jobId: ended, state: "unlocked" });
    await after.claimOwn();
    const writes = await Promise.allSettled([
      before.locked({ jobId, escrowTx: HASH, lockedAt: 1, credits: 8 }),
      before.taken(taken(jobId)),
      before.answered(answer(jobId)),
      before.refused({ jobId, reason: "answer_lost", why: "gone" }),
      before.ended({ jobId, ...settlement }),
    ]);
    expect(writes).toEqual(Array(5).fill({ status: "rejected", reason: lost }));
    expect(await after.find(jobId)).toMatchObject({ state: "locking", failure: null });
    await after.answered(answer(jobId));
    const mine = await after.unfinished();
    expect([mine.includes(jobId), mine.includes(ended), (await before.unfinished()).length]).toEqual([true, false, 0]);
  });

  it("a lost row fails alone: those written with it are written", async () => {
    const [before, after] = [process(ONE), process(ONE)];
    const gone = await one(before);
    await after.claimOwn();
    const kept = await one(before);
    const [first, second] = [before.answered(answer(gone)), before.answered(answer(kept))];
    await expect(first).rejects.toBeInstanceOf(JobLost);
    await second;
    expect((await after.find(kept))?.state).toBe("settling");
  });

  it.each(["of its own signer", "of another signer"])(
    "a claim %s refuses what a client waited for, unless it can repeat or fetch",
    async (whose) => {
      const signer: Address = `0x${randomBytes(20).toString("hex")}`;
      const before = process(signer);
      const after = whose === "of its own signer" ? process(signer) : process(ONE);
      const [repeatable] = (await add(before, 1, true)) as [Hex];
      const [waiting, left, told, fetched] = (await add(before, 4, false)) as [Hex, Hex, Hex, Hex];
      await before.left({ jobId: left, sentHash: HASH, sentCharacters: 9, sentComplete: false });
      await before.refused({ jobId: told, reason: "worker_failed", why: "the worker broke off" });
      expect(await after.handOut(fetched)).toBe(true);
      if (whose === "of its own signer") await after.claimOwn();
      else await after.claimFrom(signer, signerLockKey(31_337, signer));
      const failures = await Promise.all([repeatable, waiting, left, told, fetched].map((id) => after.find(id)));
      expect(failures.map((job) => [job?.failureReason, job?.failure])).toEqual([
        [null, null],
        ["answer_lost", "the gateway ended while its client waited"],
        [null, null],
        ["worker_failed", "the worker broke off"],
        [null, null],
      ]);
      // Its client was told that nothing is charged, and its worker has proved the kept answer since.
      expect(await after.handOut(waiting)).toBe(false);
      await after.withdrawRefusal(waiting);
      expect(await after.handOut(waiting)).toBe(true);
    },
  );

  it("a job of another signer is claimed only in one operator, with its lock free", async () => {
    const [one_, two] = [process(ONE), process(TWO)];
    const [jobId, foreign] = [await one(one_), await one(process(ONE, 2))];
    const key = signerLockKey(31_337, ONE);
    const holder = new pg.Client(url);
    await holder.connect();
    await holder.query("SELECT pg_advisory_lock($1)", [key]);
    expect(await two.othersUnfinished()).toContain(ONE);
    expect(await two.claimFrom(ONE, key)).toBe(0);
    await one_.taken(taken(jobId));
    await holder.end();
    await expect.poll(() => two.claimFrom(ONE, key)).toBeGreaterThan(0);
    await expect(one_.answered(answer(jobId))).rejects.toEqual(lost);
    expect(await two.find(jobId)).toMatchObject({ gateway: TWO, worker: WALLET });
    expect(await two.find(foreign)).toMatchObject({ gateway: ONE });
    // Nothing of the lock stays with the process that claimed.
    expect((await pool.query("SELECT pg_try_advisory_xact_lock($1) AS free", [key])).rows).toEqual([{ free: true }]);
  });
});

describe("what a reorganisation takes back", () => {
  const dispute: Hex = `0x${"dd".repeat(32)}`;

  it("is open again: how jobs ended, and the dispute of a job", async () => {
    const store = process(ONE);
    const ids = (await add(store, 6)) as [Hex, Hex, Hex, Hex, Hex, Hex];
    const [settled, settling, unlocked, refunded, processing, other] = ids;
    for (const jobId of [settled, other]) await store.ended({ jobId, ...settlement });
    await store.answered(answer(settling));
    await store.ended({ jobId: unlocked, state: "unlocked" });
    await store.ended({ jobId: refunded, state: "refunded", refundTx: HASH, failure: "job_timeout" });
    await store.locked({ jobId: processing, escrowTx: HASH, lockedAt: 1, credits: 8 });
    await store.taken(taken(processing));
    for (const jobId of [settled, settling, other]) await store.disputed(jobId, dispute);
    // A later process of the signer opens them, and writes them from then on: their transactions are mined again, elsewhere.
    const later = process(ONE);
    await later.reopen([settled, settling, unlocked, refunded, processing]);
    const rows = await Promise.all(ids.map((jobId) => later.find(jobId)));
    expect(rows.map((row) => [row?.state, row?.disputeTx])).toEqual([
      ["settling", null],
      ["settling", null],
      ["locking", null],
      ["pending", null],
      ["processing", null],
      ["settled", dispute],
    ]);
    const nowhere = { settlementTx: null, settlementBlock: null, settledAt: null, refundTx: null };
    expect(rows[0]).toMatchObject({ ...nowhere, creditsCharged: 9 });
    expect(rows[3]).toMatchObject({ ...nowhere, failure: "job_timeout" });
    await later.ended({ jobId: settled, ...settlement });
    expect(await later.find(settled)).toMatchObject(settlement);
    await expect(store.ended({ jobId: settled, ...settlement })).rejects.toBeInstanceOf(JobLost);
  });
});

it("is found by its id in a table that has grown since the statement was first used", async () => {
  // One connection: it keeps what it prepared while the table was small.
  const connection = openDatabase(url, pino({ level: "silent" }), 1);
  try {
    const store = new JobStore(connection, { gateway: ONE, operator: 1 });
    const lock = (jobId: Hex) => store.locked({ jobId, escrowTx: HASH, lockedAt: 1, credits: 8 });
    const scanned = async (): Promise<number> => {
      await connection.query("SELECT pg_stat_force_next_flush()");
      const { rows } = await connection.query(
        "SELECT seq_tup_read AS rows FROM pg_stat_user_tables WHERE relname = 'job'",
      );
      return rows[0].rows;
    };
    for (const jobId of await add(store, 10)) await lock(jobId);
    const ids = await add(store, 3_000);
    const before = await scanned();
    for (const jobId of ids.slice(0, 20)) await lock(jobId);
    expect((await scanned()) - before).toBeLessThan(3_000);
  } finally {
    await connection.end();
  }
});
