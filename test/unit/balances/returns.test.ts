/** What settlements that are not yet seen mined give back: in a client's balance once, neither twice nor never. */
import type { Hex } from "viem";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Balances } from "../../../api/chain/balances.ts";
import { batch, completes, jobId, otherJob, ScriptedNode, UNTIL, wallet } from "./scripted-node.ts";

let node: ScriptedNode;
let balances: Balances;
beforeEach(async () => {
  node = new ScriptedNode();
  balances = await node.open();
});
afterEach(() => {
  node.close();
});

describe("what a settlement returns", () => {
  it("is in the balance from the moment it is expected, and once only when the chain has it before we know", async () => {
    await balances.read(wallet);
    balances.expectReturn(wallet, jobId, 22, UNTIL);
    expect(balances.known(wallet)).toEqual({ free: 722, escrowed: 8 });
    balances.sent(4, completes(jobId));
    expect(await balances.read(wallet)).toEqual({ free: 722, escrowed: 8 });
    // Mined, its receipt not seen.
    node.mine({ free: 722, escrowed: 0, sent: 5 });
    expect(await balances.read(wallet)).toEqual({ free: 722, escrowed: 0 });
    expect(balances.known(wallet)).toEqual({ free: 722, escrowed: 0 });
    balances.observe(batch(17, 4, "JobSettled", jobId, { free: 722, escrowed: 0 }));
    expect(balances.known(wallet)).toEqual({ free: 722, escrowed: 0 });
  });

  it("counts while another one is on chain already", async () => {
    balances.expectReturn(wallet, jobId, 10, UNTIL);
    balances.sent(4, completes(jobId));
    balances.expectReturn(wallet, otherJob, 5, UNTIL);
    balances.sent(5, completes(otherJob));
    node.mine({ free: 710, escrowed: 20, sent: 5 });
    expect(await balances.read(wallet)).toEqual({ free: 715, escrowed: 15 });
  });

  it("counts once when it is expected, sent and mined while the balance is being read", async () => {
    node.before = (method) => {
      if (method !== "eth_blockNumber") return;
      balances.expectReturn(wallet, jobId, 22, UNTIL);
      balances.sent(4, completes(jobId));
      node.mine({ free: 722, escrowed: 0, sent: 5 });
    };
    expect(await balances.read(wallet)).toEqual({ free: 722, escrowed: 8 });
  });

  it("costs one question more, however many there are", async () => {
    const jobs = Array.from({ length: 300 }, (_, index): Hex => `0x${index.toString(16).padStart(32, "0")}`);
    for (const job of jobs) balances.expectReturn(wallet, job, 1, UNTIL);
    balances.sent(4, jobs.slice(0, 100).flatMap(completes));
    balances.sent(5, jobs.slice(100, 200).flatMap(completes));
    node.mine({ free: 800, escrowed: 400, sent: 5 });
    expect(await balances.read(wallet)).toEqual({ free: 1_000, escrowed: 200 });
    expect(node.asked.toSorted()).toEqual(["eth_blockNumber", "eth_call", "eth_getTransactionCount"]);
  });

  it("counts again while its transaction came to nothing, and in its next one until that is mined", async () => {
    balances.expectReturn(wallet, jobId, 22, UNTIL);
    balances.sent(4, completes(jobId));
    // Another transaction took the nonce.
    balances.sent(null, completes(jobId));
    balances.observe(batch(17, 5, "JobLocked", otherJob, { free: 600, escrowed: 130 }));
    expect(balances.known(wallet)).toEqual({ free: 622, escrowed: 108 });
    balances.sent(6, completes(jobId));
    expect(balances.known(wallet)).toEqual({ free: 622, escrowed: 108 });
    balances.observe(batch(18, 6, "JobSettled", jobId, { free: 622, escrowed: 100 }));
    expect(balances.known(wallet)).toEqual({ free: 622, escrowed: 100 });
  });

  it("counts again when it turns out that the chain's transaction with its nonce was none of ours", async () => {
    balances.expectReturn(wallet, jobId, 22, UNTIL);
    balances.sent(4, completes(jobId));
    node.mine({ free: 700, escrowed: 30, sent: 5 });
    expect(await balances.read(wallet)).toEqual({ free: 700, escrowed: 30 });
    balances.sent(null, completes(jobId));
    expect(balances.known(wallet)).toEqual({ free: 722, escrowed: 8 });
  });

  it("no longer counts when the settlement can no longer be mined: others may have ended the job", async () => {
    balances.expectReturn(wallet, jobId, 22, UNTIL);
    node.time = UNTIL - 1;
    expect(await balances.read(wallet)).toEqual({ free: 722, escrowed: 8 });
    node.time = UNTIL;
    expect(balances.known(wallet)).toEqual({ free: 700, escrowed: 30 });
    node.mine({ free: 730, escrowed: 0, sent: 4 });
    expect(await balances.read(wallet)).toEqual({ free: 730, escrowed: 0 });
  });

  it("counts once when a later transaction of ours is seen mined first", async () => {
    balances.expectReturn(wallet, jobId, 22, UNTIL);
    balances.sent(4, completes(jobId));
    balances.expectReturn(wallet, otherJob, 3, UNTIL);
    balances.sent(6, completes(otherJob));
    balances.observe(batch(18, 5, "JobLocked", `0x${"a3".repeat(16)}`, { free: 622, escrowed: 108 }));
    expect(balances.known(wallet)).toEqual({ free: 625, escrowed: 105 });
    balances.observe(batch(17, 4, "JobSettled", jobId, { free: 722, escrowed: 8 }));
    expect(balances.known(wallet)).toEqual({ free: 625, escrowed: 105 });
    balances.observe(batch(19, 6, "JobSettled", otherJob, { free: 625, escrowed: 100 }));
    expect(balances.known(wallet)).toEqual({ free: 625, escrowed: 100 });
  });

  it("no longer counts when the settlement came to nothing", async () => {
    await balances.read(wallet);
    balances.expectReturn(wallet, jobId, 22, UNTIL);
    balances.dropReturn(jobId);
    expect(balances.known(wallet)).toEqual({ free: 700, escrowed: 30 });
  });
});
