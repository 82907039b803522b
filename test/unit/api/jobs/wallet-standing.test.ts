/** The credits that are held for locks on their way: how many of a wallet, and from when on after one of them reverted. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Balances } from "../../../../api/chain/balances.ts";
import { type CountedJob, WalletStandings } from "../../../../api/jobs/wallet-standing.ts";
import { batch, jobId, ScriptedNode, wallet } from "../chain/balances/scripted-node.ts";

/** A bit of an account's flags: it has a daily limit. */
const LIMITED = 2;
const DAY_SECONDS = 86_400;

let node: ScriptedNode;
let balances: Balances;
let standings: WalletStandings;
beforeEach(async () => {
  standings = new WalletStandings();
  node = new ScriptedNode();
  balances = await node.open();
});
afterEach(() => void vi.useRealTimers());

/** A job that is let on its way; fails where it is not. */
function held(credits: number): CountedJob {
  expect(whyNot(credits)).toBeNull();
  return standings.begin(wallet, credits);
}
/** What stands in the way of a lock of so many credits; null for nothing. */
const whyNot = (credits: number) => standings.whyNot(wallet, credits, balances);
const restMs = (): number => standings.rest(wallet)?.ms ?? 0;
/** The jobs of a credit each that are let on their way at once. */
function holdAll(): CountedJob[] {
  const jobs: CountedJob[] = [];
  while (whyNot(1) === null) jobs.push(standings.begin(wallet, 1));
  return jobs;
}
/** How many of them there are; they end again. */
function sent(): number {
  const jobs = holdAll();
  for (const job of jobs) job.ended();
  return jobs.length;
}
/** Their locks are mined, and their first tokens there. */
function begin(jobs: readonly CountedJob[]): void {
  for (const job of jobs) {
    job.lockEnded();
    job.begun();
  }
}
/** A job that is answered; it may have begun before a rest. */
function answer(): void {
  const job = standings.begin(wallet, 1);
  begin([job]);
  standings.settled(wallet);
  job.ended();
}
/** A job ended without a charge. */
const fail = (isWorkersFault = false): void => standings.failed(wallet, { isWorkersFault });
const locked = (block = 17, more: { dailyLimit?: number; spentToday?: number } = {}) =>
  balances.observe(batch(block, 1, "JobLocked", jobId, { free: 600, escrowed: 130, ...more }));
/** A lock of the wallet reverts in this block. */
function refused(name: string, block = 17): void {
  if (standings.lockReverted(wallet, name)) balances.doubt(wallet, block);
}
/** The chain has a further block with the wallet's account, and the gateway has read it. */
async function readNext(more: { flags?: number; dailyLimit?: number; spentToday?: number; spentDay?: number } = {}) {
  node.mine({ free: 700, escrowed: 30, sent: 4, ...more });
  await balances.read(wallet);
}

describe("credits that locks on their way will take", () => {
  beforeEach(async () => void (await balances.read(wallet)));

  it("are not kept twice, and are gone once they are locked", () => {
    const first = held(500);
    expect([whyNot(201), whyNot(701)]).toEqual(["credits", "insufficient"]);
    held(200);
    balances.observe(batch(17, 1, "JobLocked", jobId, { free: 200, escrowed: 530 }));
    first.lockEnded();
    expect(whyNot(500)).toBe("insufficient");
  });

  it("are there again for the next one if the lock was refused", () => {
    const first = held(700);
    expect(whyNot(1)).toBe("credits");
    first.ended();
    held(700);
  });
});

describe("the daily limit", () => {
  const today = () => Math.floor(node.time / DAY_SECONDS);
  const limited = (spentToday: number, spentDay = today()) =>
    readNext({ flags: LIMITED, dailyLimit: 100, spentToday, spentDay });

  it("has room for what is spent, on its way and asked for, up to its last credit", async () => {
    await limited(50);
    held(30);
    expect(whyNot(21)).toBe("limit");
    const last = held(20);
    expect(whyNot(1)).toBe("limit");
    last.ended();
    held(1);
  });

  it("itself stands in the way where no lock on its way does", async () => {
    await limited(50);
    expect(whyNot(51)).toBe("insufficient");
    held(50);
  });

  it("is read again after a job that failed, which gives some of it back", async () => {
    await limited(100);
    balances.observe(batch(18, 4, "JobFailed", jobId, { free: 700, escrowed: 0 }));
    node.mine({ free: 700, escrowed: 0, sent: 4, flags: LIMITED, dailyLimit: 100, spentToday: 92, spentDay: today() });
    expect(whyNot(8)).toBe("account");
    await vi.waitFor(() => held(8));
  });

  it("is whole again on the next UTC day, but for locks on their way", async () => {
    await limited(100);
    expect(whyNot(1)).toBe("insufficient");
    const midnight = (today() + 1) * DAY_SECONDS;
    node.time = midnight - 1;
    expect(whyNot(1)).toBe("insufficient");
    node.time = midnight;
    held(60);
    expect(whyNot(41)).toBe("limit");
    held(40);
  });
});

describe("jobs of one wallet at a time", () => {
  beforeEach(async () => void (await balances.read(wallet)));

  it("that have no token yet are eight while nothing is known of it, and two more with each first token", () => {
    const first = holdAll();
    expect(first).toHaveLength(8);
    for (const job of first) job.begun();
    // Promised locks can still revert.
    expect(sent()).toBe(0);
    begin(first);
    for (const job of first) job.ended();
    expect(sent()).toBe(24);
  });

  it("allow no more where they end before their first token", () => {
    for (const job of holdAll()) {
      job.lockEnded();
      job.ended();
      job.begun();
    }
    expect(sent()).toBe(8);
  });

  it("that run are 32 while nothing is known of it, and two more with each answer", () => {
    const jobs: CountedJob[] = [];
    for (let next = holdAll(); next.length > 0; next = holdAll()) {
      begin(next);
      jobs.push(...next);
    }
    expect(jobs).toHaveLength(32);
    jobs[0]?.ended();
    standings.settled(wallet);
    expect(sent()).toBe(3);
  });

  it("that run or wait for their settlement are together 64 at first", () => {
    const jobs: CountedJob[] = [];
    for (let next = holdAll(); next.length > 0; next = holdAll()) {
      begin(next);
      for (const job of next) job.answered();
      jobs.push(...next);
    }
    expect(jobs).toHaveLength(64);
    // A settlement that the contract refuses makes place for one more, and allows no more than before.
    jobs.pop()?.ended();
    expect(sent()).toBe(1);
    jobs.pop()?.ended();
    standings.settled(wallet);
    expect(sent()).toBe(6);
  });

  it("that run are half as many after a failure at the operator's expense, one at least, and two more after an answer", () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    for (let n = 0; n < 4; n++) answer();
    const run = () => {
      const jobs: CountedJob[] = [];
      for (let next = holdAll(); next.length > 0; next = holdAll()) {
        begin(next);
        jobs.push(...next);
      }
      for (const job of jobs) job.ended();
      return jobs.length;
    };
    const most = [run()];
    for (let n = 0; n < 7; n++) {
      fail();
      // What fails within the rest was begun before it.
      if (restMs() > 0) fail();
      vi.advanceTimersByTime(restMs());
      most.push(run());
    }
    expect(most).toEqual([40, 20, 10, 5, 2, 1, 1, 1]);
    answer();
    expect(run()).toBe(3);
  });

  it.each(["Ledger_InsufficientCredits", "Limits_Frozen", "Job_NotAuthorized", "Job_AuthorizationTooLong"])(
    "start one by one once the wallet made locks fail at the gateway's cost: %s",
    async (name) => {
      refused(name);
      await readNext();
      expect(sent()).toBe(1);
      answer();
      expect(sent()).toBe(3);
    },
  );

  it("are no fewer after a refusal that was not the wallet's doing", () => {
    const first = sent();
    refused("Ledger_Paused");
    expect(sent()).toBe(first);
  });
});

describe("after a revert of the wallet's doing", () => {
  beforeEach(async () => void (await balances.read(wallet)));

  it("nothing is locked before its account was read at the block of the revert", async () => {
    vi.useFakeTimers();
    refused("Limits_Frozen", 17);
    expect([balances.terms(wallet), sent()]).toEqual([null, 0]);
    // The node is behind: it has block 16.
    await vi.waitFor(() => expect(node.asked.length).toBeGreaterThanOrEqual(4));
    expect([balances.terms(wallet), sent()]).toEqual([null, 0]);
    const asked = node.asked.length;
    expect([sent(), sent(), node.asked.length]).toEqual([0, 0, asked]);
    node.mine({ free: 600, escrowed: 30, sent: 4, flags: 1 });
    await vi.advanceTimersByTimeAsync(250);
    expect(sent()).toBe(0);
    await vi.waitFor(() => expect(balances.terms(wallet)).toMatchObject({ frozen: true }));
    expect([balances.known(wallet)?.free, sent()]).toEqual([600, 1]);
  });

  it("what was seen in a later block is believed", () => {
    locked(18);
    refused("Limits_Frozen", 17);
    expect([balances.terms(wallet)?.frozen, sent()]).toEqual([false, 1]);
  });

  it("a later lock of the wallet shows its account as well", () => {
    refused("Limits_Frozen", 17);
    locked(18);
    expect(sent()).toBe(1);
  });
});

describe("a wallet whose locks revert again and again, or whose jobs fail", () => {
  /** The newest block of the chain. */
  let block: number;
  beforeEach(async () => {
    block = 16;
    vi.useFakeTimers({ toFake: ["Date"] });
    await balances.read(wallet);
  });
  /** A lock goes out and reverts. */
  async function cycle(): Promise<number> {
    const job = held(1);
    node.mine({ free: 700, escrowed: 30, sent: 4 });
    block += 1;
    refused("Limits_Frozen", block);
    job.ended();
    await balances.read(wallet);
    const ms = restMs();
    vi.advanceTimersByTime(ms);
    return ms;
  }

  it("rests from its third time on, twice as long each time, and five minutes at most", async () => {
    const rests: number[] = [];
    for (let n = 0; n < 13; n++) rests.push(await cycle());
    expect(rests).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000));
  });

  it("rests a second at most because many that were on their way together ended so", async () => {
    for (let n = 0; n < 32; n++) refused("Ledger_InsufficientCredits", 17 + n);
    for (let n = 0; n < 32; n++) fail();
    expect(restMs()).toBe(1_000);
  });

  it.each([
    ["eight times at first", 0, 8],
    ["once more for each answer", 5, 13],
    ["32 times at most", 40, 32],
  ])("is excused where the worker is at fault, %s", (_, answers, excuses) => {
    for (let n = 0; n < answers; n++) answer();
    for (let n = 0; n < excuses + 2; n++) fail(true);
    expect(restMs()).toBe(0);
    fail(true);
    expect(restMs()).toBe(1_000);
  });

  it("has as many excuses after failures that were not the worker's", () => {
    for (let n = 0; n < 2; n++) fail();
    for (let n = 0; n < 8; n++) fail(true);
    expect(restMs()).toBe(0);
    fail(true);
    expect(restMs()).toBe(1_000);
    // What fails within a rest uses up no excuse either.
    for (let n = 0; n < 9; n++) fail(true);
    answer();
    fail(true);
    expect(restMs()).toBe(0);
  });

  it("rests no longer once it has an answer, and half as long the next time", async () => {
    for (let n = 0; n < 6; n++) await cycle();
    answer();
    expect([await cycle(), await cycle()]).toEqual([2_000, 4_000]);
  });
});
