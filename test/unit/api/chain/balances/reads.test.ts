/** A client's balance as the chain has it, and who asks for it. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Balances } from "../../../../../api/chain/balances.ts";
import { RpcUnreachable } from "../../../../../api/chain/rpc.ts";
import { batch, jobId, ScriptedNode, wallet } from "./scripted-node.ts";

let node: ScriptedNode;
let balances: Balances;
beforeEach(async () => {
  node = new ScriptedNode();
  balances = await node.open();
});
afterEach(() => void vi.useRealTimers());

describe("a node that closes a kept connection in the moment it is used", () => {
  it.each(["eth_blockNumber", "eth_call"])("costs no balance, whether at %s", async (method) => {
    node.unanswered = (one, times) => one === method && times === 1;
    expect(await balances.read(wallet)).toEqual({ free: 700, escrowed: 30 });
  });

  it("is asked three times, not for ever", async () => {
    node.unanswered = () => true;
    await expect(balances.read(wallet)).rejects.toBeInstanceOf(RpcUnreachable);
    expect(node.asked).toHaveLength(3);
  });
});

describe("a node that is behind the one asked first", () => {
  it("does not have the block yet: it is asked again", async () => {
    node.refused = (times) => times === 1;
    expect(await balances.read(wallet)).toEqual({ free: 700, escrowed: 30 });
  });

  it("and stays so: it counts as out of reach", async () => {
    node.refused = () => true;
    await expect(balances.read(wallet)).rejects.toBeInstanceOf(RpcUnreachable);
  });

  it("does not put its older balance over a newer one", async () => {
    balances.observe(batch(17, 1, "JobLocked", jobId, { free: 600, escrowed: 130 }));
    expect(await balances.read(wallet)).toEqual({ free: 600, escrowed: 130 });
    expect(balances.known(wallet)).toEqual({ free: 600, escrowed: 130 });
  });
});

describe("the block of our newest transaction", () => {
  it("holds more than our own events: a deposit in it is seen", async () => {
    node.mine({ free: 1_600, escrowed: 130, sent: 4 });
    balances.observe(batch(17, 1, "JobLocked", jobId, { free: 600, escrowed: 130 }));
    expect(await balances.read(wallet)).toEqual({ free: 1_600, escrowed: 130 });
    expect(balances.known(wallet)).toEqual({ free: 1_600, escrowed: 130 });
  });

  it("is asked for once, not with every request until another follows", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    node.mine({ free: 600, escrowed: 130, sent: 4 });
    balances.observe(batch(17, 1, "JobLocked", jobId, { free: 600, escrowed: 130 }));
    await balances.current(wallet);
    expect(node.asked).toEqual([]);
    vi.advanceTimersByTime(1_500);
    await balances.current(wallet);
    expect(node.asked).toEqual(["eth_blockNumber", "eth_call"]);
    await balances.current(wallet);
    expect(node.asked).toHaveLength(2);
  });
});

describe("several who ask at once", () => {
  it("share one read", async () => {
    const all = await Promise.all([1, 2, 3, 4].map(() => balances.current(wallet)));
    expect(all).toEqual(Array(4).fill({ free: 700, escrowed: 30 }));
    expect(node.asked).toEqual(["eth_blockNumber", "eth_call"]);
  });

  it("after a deposit during an older read, both readers see the deposit", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const { promise: underWay, resolve: arrived } = Promise.withResolvers<void>();
    node.before = (method, times) => {
      if (method !== "eth_call" || times > 1) return;
      arrived();
      return answered;
    };
    const first = balances.read(wallet);
    await underWay;
    node.mine({ free: 1_700, escrowed: 30, sent: 4 });
    vi.advanceTimersByTime(1);
    const later = [balances.read(wallet), balances.read(wallet)];
    answer();
    expect(await first).toEqual({ free: 700, escrowed: 30 });
    expect(await Promise.all(later)).toEqual(Array(2).fill({ free: 1_700, escrowed: 30 }));
    expect(node.asked).toHaveLength(4);
  });

  it("are not kept by a failed read from asking again", async () => {
    node.unanswered = () => node.asked.length <= 3;
    await expect(balances.read(wallet)).rejects.toBeInstanceOf(RpcUnreachable);
    expect(await balances.read(wallet)).toEqual({ free: 700, escrowed: 30 });
  });
});

it("read for a request is not read for it again", async () => {
  const since = performance.now();
  await balances.current(wallet);
  expect(await balances.read(wallet, since)).toEqual({ free: 700, escrowed: 30 });
  expect(node.asked).toEqual(["eth_blockNumber", "eth_call"]);
});
