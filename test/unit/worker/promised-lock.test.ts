/** Jobs that a worker begins on the promise of their lock: which it does, and how it waits for the block. */
import { expect, it } from "vitest";
import type { Dispatch } from "../../../protocol/dispatch.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import { ChainStatus } from "../../../protocol/job-status.ts";
import type { ChainJob, ChainReader } from "../../../worker/chain.ts";
import { AssignmentChecks } from "../../../worker/jobs/checks.ts";
import type { Identity } from "../../../worker/keys.ts";

const LIMITS = { preconfirmedJobCredits: 10, preconfirmedCredits: 15 };
const MODEL = 3;
const PROMISED_AT = 100n;
const gateway = { operator: 7, address: `0x${"aa".repeat(20)}` } as const;
const never = new AbortController().signal;

const lockOf = (credits: number, more: Partial<ChainJob> = {}) =>
  ({
    status: ChainStatus.Locked,
    attempt: 0,
    operator: gateway.operator,
    model: MODEL,
    credits,
    creditsPerRequest: 1,
    creditsPer1kTokens: 1,
    lockedAt: 200,
    ...more,
  }) as unknown as ChainJob;
const NO_LOCK = lockOf(0, { status: ChainStatus.None });

const dispatch = {
  assignment: { jobId: newJobId(), attempt: 1, acknowledgeBy: 1_000 },
  model: "a-model",
  request: { max_tokens: 100 },
} as unknown as Dispatch;

/** A worker whose node promises `promised`, and shows the lock in a block from the look on that is `minedAt`. */
function worker(promised: ChainJob, { mined = promised, minedAt = 1 } = {}) {
  const at = { block: PROMISED_AT, blockTime: 200, at: 0 };
  let looks = 0;
  const reader = {
    sight: async () => ({ ...at, job: NO_LOCK, promised, signer: { operator: gateway.operator, removedAt: 0 } }),
    modelNumber: async () => MODEL,
    // Another node of the same address has shown a newer block.
    blockAfter: async () => {},
    sightAll: async () => {
      looks += 1;
      return [{ ...at, job: looks < minedAt ? NO_LOCK : mined }];
    },
  } as unknown as ChainReader;
  const settings = { models: new Map(), lockWaitMs: 0, lockSeen: "preconfirmed", ...LIMITS } as const;
  return new AssignmentChecks({} as Identity, reader, settings);
}

const offer = (checks: AssignmentChecks) => checks.locked(dispatch, gateway);

it("a job begins on the promise of its lock", async () => {
  expect(await offer(worker(lockOf(10)))).toMatchObject({ job: { credits: 10 }, giveBack: expect.any(Function) });
});

it("a job above the limit does not", async () => {
  await expect(offer(worker(lockOf(11)))).rejects.toMatchObject({ code: "not_locked" });
});

it("all jobs on promises together have at most the limit, until one is over", async () => {
  const checks = worker(lockOf(10));
  const first = await offer(checks);
  await expect(offer(checks)).rejects.toMatchObject({ code: "not_locked" });
  first.giveBack?.();
  expect(await offer(checks)).toMatchObject({ job: { credits: 10 } });
});

it("a promised lock that does not fit the job takes no room", async () => {
  const checks = worker(lockOf(10, { model: MODEL + 1 }));
  for (let n = 0; n < 2; n++) await expect(offer(checks)).rejects.toMatchObject({ code: "bad_request" });
});

it("a node that is behind is asked for the block at a pace", async () => {
  const checks = worker(lockOf(10), { minedAt: 4 });
  const lock = await offer(checks);
  const since = performance.now();
  expect(await checks.mined(dispatch, gateway, lock, never)).toMatchObject({ job: { credits: 10 } });
  expect(performance.now() - since).toBeGreaterThan(250);
});

it("a lock that is mined with other terms than were promised ends the job", async () => {
  const checks = worker(lockOf(10), { mined: lockOf(10, { operator: gateway.operator + 1 }) });
  const lock = await offer(checks);
  await expect(checks.mined(dispatch, gateway, lock, never)).rejects.toMatchObject({ code: "not_assigned" });
});
