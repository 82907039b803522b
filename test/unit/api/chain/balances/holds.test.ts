/** The credits that are held for locks on their way: how many of a wallet, and from when on after one of them reverted. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Balances } from "../../../../../api/chain/balances.ts";
import { batch, jobId, ScriptedNode, wallet } from "./scripted-node.ts";

/** A bit of an account's flags: it has a daily limit. */
const LIMITED = 2;
const DAY_SECONDS = 86_400;

let node: ScriptedNode;
let balances: Balances;
beforeEach(async () => {
  node = new ScriptedNode();
  balances = await node.open();
});
afterEach(() => void vi.useRealTimers());

/** How many locks of a credit each are let on their way at once. They stay there, or end. */
function sent({ stay = false } = {}): number {
  const holds = Array.from({ length: 200 }, () => balances.hold(wallet, 1));
  const releases = holds.filter((kept) => typeof kept === "function");
  if (!stay) for (const release of releases) release();
  return releases.length;
}
const locked = (block = 17, more: { dailyLimit?: number; spentToday?: number } = {}) =>
  balances.observe(batch(block, 1, "JobLocked", jobId, { free: 600, escrowed: 130, ...more }));
/** A lock of the wallet reverts in this block. */
function refused(name: string, block = 17): void {
  const revert = { name, args: [wallet, 0n, 1n] };
  const empty = batch(block, 2, "JobLocked", jobId, { free: 600, escrowed: 130 });
  balances.observe({ ...empty, eventsByJob: new Map(), failures: new Map([[0, revert]]) });
}
/** The chain has a further block with the wallet's account, and the gateway has read it. */
async function readNext(more: { flags?: number; dailyLimit?: number; spentToday?: number; spentDay?: number } = {}) {
  node.mine({ free: 700, escrowed: 30, sent: 4, ...more });
  await balances.read(wallet);
}

describe("credits that locks on their way will take", () => {
  beforeEach(async () => void (await balances.read(wallet)));

  it("are not kept twice, and are gone once they are locked", () => {
    const release = balances.hold(wallet, 500) as () => void;
    expect([balances.hold(wallet, 201), balances.hold(wallet, 701)]).toEqual(["held", null]);
    expect(balances.hold(wallet, 200)).toBeTypeOf("function");
    balances.observe(batch(17, 1, "JobLocked", jobId, { free: 200, escrowed: 530 }));
    release();
    expect(balances.hold(wallet, 500)).toBeNull();
  });

  it("are there again for the next one if the lock was refused", () => {
    const release = balances.hold(wallet, 700) as () => void;
    expect(balances.hold(wallet, 1)).toBe("held");
    release();
    expect(balances.hold(wallet, 700)).toBeTypeOf("function");
  });
});

describe("the daily limit", () => {
  const today = () => Math.floor(node.time / DAY_SECONDS);
  const limited = (spentToday: number, spentDay = today()) =>
    readNext({ flags: LIMITED, dailyLimit: 100, spentToday, spentDay });

  it("has room for what is spent, on its way and asked for, up to its last credit", async () => {
    await limited(50);
    balances.hold(wallet, 30);
    expect(balances.hold(wallet, 21)).toBe("held");
    const last = balances.hold(wallet, 20);
    expect(last).toBeTypeOf("function");
    expect(balances.hold(wallet, 1)).toBe("held");
    (last as () => void)();
    expect(balances.hold(wallet, 1)).toBeTypeOf("function");
  });

  it("itself stands in the way where no lock on its way does", async () => {
    await limited(50);
    expect([balances.hold(wallet, 51), typeof balances.hold(wallet, 50)]).toEqual([null, "function"]);
  });

  it("is read again after a job that failed, which gives some of it back", async () => {
    await limited(100);
    balances.observe(batch(18, 4, "JobFailed", jobId, { free: 700, escrowed: 0 }));
    node.mine({ free: 700, escrowed: 0, sent: 4, flags: LIMITED, dailyLimit: 100, spentToday: 92, spentDay: today() });
    expect(balances.hold(wallet, 8)).toBe("held");
    await vi.waitFor(() => expect(balances.hold(wallet, 8)).toBeTypeOf("function"));
  });

  it("is whole again on the next UTC day, but for locks on their way", async () => {
    await limited(100);
    expect(balances.hold(wallet, 1)).toBeNull();
    const midnight = (today() + 1) * DAY_SECONDS;
    node.time = midnight - 1;
    expect(balances.hold(wallet, 1)).toBeNull();
    node.time = midnight;
    expect(balances.hold(wallet, 60)).toBeTypeOf("function");
    expect([balances.hold(wallet, 41), typeof balances.hold(wallet, 40)]).toEqual(["held", "function"]);
  });
});

describe("locks of one wallet on their way", () => {
  beforeEach(async () => void (await balances.read(wallet)));

  it("are few while nothing is known of it, and more with each that is mined", () => {
    const first = sent();
    expect(first).toBe(8);
    for (let i = 0; i < first; i++) locked();
    expect(sent()).toBe(3 * first);
  });

  it.each(["Ledger_InsufficientCredits", "Limits_Frozen", "Job_NotAuthorized", "Job_OperatorNotChosen"])(
    "are one at a time once the wallet made some fail at the gateway's cost: %s",
    async (name) => {
      refused(name);
      await readNext();
      expect(sent()).toBe(1);
      locked(18);
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
    expect(sent()).toBe(3);
  });
});

describe("a wallet whose locks revert again and again", () => {
  /** The newest block of the chain. */
  let block: number;
  beforeEach(async () => {
    block = 16;
    vi.useFakeTimers({ toFake: ["Date"] });
    await balances.read(wallet);
  });
  /** A lock goes out and reverts. */
  async function cycle(): Promise<number> {
    const release = balances.hold(wallet, 1) as () => void;
    node.mine({ free: 700, escrowed: 30, sent: 4 });
    block += 1;
    refused("Limits_Frozen", block);
    release();
    await balances.read(wallet);
    return balances.restMs(wallet);
  }
  it("rests from its third time on, twice as long each time, and a minute at most", async () => {
    const rests: number[] = [];
    for (let n = 0; n < 10; n++) rests.push(await cycle());
    expect(rests).toEqual([0, 0, 1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000));
  });

  it("does not rest because many that were on their way together reverted", async () => {
    for (let n = 0; n < 12; n++) locked();
    expect(sent({ stay: true })).toBe(32);
    for (let n = 0; n < 32; n++) refused("Ledger_InsufficientCredits", 17 + n);
    expect(balances.restMs(wallet)).toBe(0);
  });

  it("starts anew with a lock that is mined", async () => {
    for (let n = 0; n < 4; n++) await cycle();
    expect(balances.restMs(wallet)).toBe(2_000);
    locked(block + 1);
    expect(balances.restMs(wallet)).toBe(0);
  });
});
