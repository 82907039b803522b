/** How many jobs a wallet may start and run after a restart: as many as before it, by its jobs of the last ten minutes. */
import type { Address } from "viem";
import { afterAll, expect, it } from "vitest";
import { insertJobs, JobStore, newJobsJson } from "../../../api/db/jobs.ts";
import { type CountedJob, WalletStandings } from "../../../api/jobs/wallet-standing.ts";
import { newJobId, toApiJobId } from "../../../protocol/job-id.ts";
import { ownDatabase } from "../../support/database.ts";

const { pool } = await ownDatabase();
afterAll(() => pool.end());
const store = new JobStore(pool, { gateway: `0x${"a1".repeat(20)}`, operator: 1 });

let wallets = 0;
/** A wallet whose jobs began so long ago and came to this, one after the other: an answer, or an error. */
async function walletWith(jobs: readonly ("answer" | string)[], agoMs = 60_000): Promise<Address> {
  wallets += 1;
  const wallet: Address = `0x${String(wallets).padStart(40, "0")}`;
  const row = { wallet, model: "m", tier: "lite", validUntil: 1, creditsLocked: 8, maxTokens: 100, repeatable: false };
  const begun = Date.now() - agoMs;
  const rows = jobs.map((_, n) => store.newJob({ ...row, tier: "lite", jobId: newJobId(begun + n) }));
  await pool.query(insertJobs("$1"), [newJobsJson(rows)]);
  const ids = (what: (job: string | undefined) => boolean) =>
    rows.filter((_row, n) => what(jobs[n])).map(({ jobId }) => toApiJobId(jobId));
  const answers = ids((job) => job === "answer");
  await pool.query(`UPDATE job SET state = 'settled', completion = '{}' WHERE job_id = ANY($1)`, [answers]);
  await Promise.all(
    rows.map(async ({ jobId }, n) => {
      const failure = jobs[n] as string;
      if (failure === "answer") return;
      await store.ended({ jobId, state: "unlocked", failure });
    }),
  );
  return wallet;
}

const RICH = { left: () => ({ free: 10_000, today: 10_000 }) };
/** Jobs that a process which starts now lets start at once, and run at a time. */
async function allowed(wallet: Address): Promise<{ starting: number; running: number }> {
  const standings = new WalletStandings();
  await standings.recall(pool);
  const startAll = () => {
    const jobs: CountedJob[] = [];
    while (standings.whyNot(wallet, 8, RICH) === null) jobs.push(standings.begin(wallet, 8));
    return jobs;
  };
  const first = startAll();
  let running = first.length;
  for (let next = first; next.length > 0; running += next.length) {
    for (const job of next) {
      job.lockEnded();
      job.begun();
    }
    next = startAll();
  }
  return { starting: first.length, running };
}

const answers = (count: number) => Array<string>(count).fill("answer");

it.each<[string, string[], number, number]>([
  ["8 and 32 without a job", [], 8, 32],
  ["two more for each answer", answers(50), 108, 132],
  ["one to start after a refusal of its own doing", [...answers(50), "Limits_Frozen"], 1, 132],
  ["two more to start for each answer after that", [...answers(50), "Limits_Frozen", ...answers(3)], 7, 138],
  ["as many as before where the refusal was not its doing", [...answers(5), "Job_LockExpired"], 18, 42],
])("are %s", async (_, jobs, starting, running) => {
  expect(await allowed(await walletWith(jobs))).toEqual({ starting, running });
});

it.each([
  ["eight without a job", 0, 8],
  ["one more for each answer", 5, 13],
])("are excused where workers are at fault: %s", async (_, count, excuses) => {
  const wallet = await walletWith(answers(count));
  const standings = new WalletStandings();
  await standings.recall(pool);
  // Two failures are free.
  for (let n = 0; n < excuses + 2; n++) standings.failed(wallet, { isWorkersFault: true });
  expect(standings.rest(wallet)).toBeNull();
  standings.failed(wallet, { isWorkersFault: true });
  expect(standings.rest(wallet)?.ms).toBeGreaterThan(0);
});

it("do not count jobs that began longer ago", async () => {
  expect(await allowed(await walletWith(answers(50), 601_000))).toEqual({ starting: 8, running: 32 });
});
