/** How many locks of a wallet may be on their way after a restart: as many as before it, by the jobs of the last ten minutes. */
import type { Address, Hex } from "viem";
import { afterAll, expect, it } from "vitest";
import { Balances } from "../../../api/chain/balances.ts";
import { insertJobs, JobStore, newJobsJson } from "../../../api/db/jobs.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import { ownDatabase } from "../../support/database.ts";

const { pool } = await ownDatabase();
afterAll(() => pool.end());
const store = new JobStore(pool, { gateway: `0x${"a1".repeat(20)}`, operator: 1 });
const HASH: Hex = `0x${"0c".repeat(32)}`;

let wallets = 0;
/** A wallet whose jobs began so long ago and came to this, one after the other: a lock, or a refusal of the chain. */
async function walletWith(jobs: readonly ("lock" | string)[], agoMs = 60_000): Promise<Address> {
  wallets += 1;
  const wallet: Address = `0x${String(wallets).padStart(40, "0")}`;
  const row = { wallet, model: "m", tier: "lite", validUntil: 1, creditsLocked: 8, maxTokens: 100, repeatable: false };
  const begun = Date.now() - agoMs;
  const rows = jobs.map((_, n) => store.newJob({ ...row, tier: "lite", jobId: newJobId(begun + n) }));
  await pool.query(insertJobs("$1"), [newJobsJson(rows)]);
  await Promise.all(
    rows.map(({ jobId }, n) =>
      jobs[n] === "lock"
        ? store.locked({ jobId, escrowTx: HASH, lockedAt: 1, credits: 8 })
        : store.ended({ jobId, state: "unlocked", failure: jobs[n] as string }),
    ),
  );
  return wallet;
}

/** Locks that a process which starts now lets on their way at once. */
async function allowed(wallet: Address): Promise<number> {
  const balances = new Balances({ pool, head: { time: 1 } } as never);
  await balances.start();
  // Its account is known by a settlement: a thousand credits, and the operator 1.
  const account = (1n << 240n) | (1_000_000n << 32n);
  const event = { name: "JobSettled", args: { wallet, account }, position: 1 };
  balances.observe({ blockNumber: 1, eventsByJob: new Map([[HASH, [event]]]), failures: new Map() } as never);
  for (let held = 0; ; held++) if (balances.hold(wallet, 8) === "held") return held;
}

const locks = (count: number) => Array<string>(count).fill("lock");

it.each<[string, string[], number]>([
  ["eight without a job", [], 8],
  ["two more for each lock that was mined", locks(50), 108],
  ["one after a refusal of its own doing", [...locks(50), "Limits_Frozen"], 1],
  ["two more for each lock after that", [...locks(50), "Limits_Frozen", ...locks(3)], 7],
  ["as many as before where the refusal was not its doing", [...locks(5), "Job_LockExpired"], 18],
])("is %s", async (_, jobs, most) => {
  expect(await allowed(await walletWith(jobs))).toBe(most);
});

it("does not count jobs that began longer ago", async () => {
  expect(await allowed(await walletWith(locks(50), 601_000))).toBe(8);
});
