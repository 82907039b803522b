/** A client's balance: what the chain says of it, what our own transactions tell, and what they will still return. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeFunctionData, encodeFunctionResult, type Hex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Balances } from "../../api/chain/balances.ts";
import type { Operation } from "../../api/chain/operations.ts";
import { logPosition, type MinedBatch } from "../../api/chain/outcome.ts";
import { connectRpc, RpcUnreachable } from "../../api/chain/rpc.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";

const wallet: Hex = `0x${"11".repeat(20)}`;
const escrow: Hex = `0x${"22".repeat(20)}`;
const signer: Hex = `0x${"33".repeat(20)}`;
const jobId: Hex = `0x${"a1".repeat(16)}`;
const otherJob: Hex = `0x${"a2".repeat(16)}`;
const nobody = { id: 7, sequence: 1, dailyLimit: 0, spentToday: 0, spentDay: 0, flags: 0, openDisputes: 0 };
/** Chain time until which settlements can be mined, and the chain's time now; Unix seconds. */
const UNTIL = 1_900_000_150;
const NOW = 1_900_000_010;

/** What the node has from a block on; `sent`: how many transactions of our signer. */
type State = { free: number; escrowed: number; sent: number };

let server: Server;
let balances: Balances;
let time: number;
/** The chain by block; the node's head is the last of them, unless it is behind. */
let chain: Map<number, State>;
let head: number;
/** Methods asked for so far; what is done before one is answered; whose connection is closed instead; refused calls. */
let asked: string[];
let before: (method: string, times: number) => Promise<void> | void;
let unanswered: (method: string, times: number) => boolean;
let refused: (times: number) => boolean;

beforeEach(async () => {
  [asked, before, unanswered, refused] = [[], () => {}, () => false, () => false];
  time = NOW;
  chain = new Map([[16, { free: 700, escrowed: 30, sent: 4 }]]);
  head = 16;
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => {
      text += part;
    });
    request.on("end", async () => {
      const { id, method, params } = JSON.parse(text);
      asked.push(method);
      const times = asked.filter((one) => one === method).length;
      if (unanswered(method, times)) return request.socket.destroy();
      const answer = method === "eth_blockNumber" ? `0x${head.toString(16)}` : at(method, params, times);
      await before(method, times);
      const error = { code: -32_000, message: "header not found" };
      response.end(JSON.stringify(answer === null ? { id, error } : { id, result: answer }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const rpc = connectRpc(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const clock = {
    get time() {
      return time;
    },
  };
  balances = new Balances(rpc, { escrow, signer, head: clock });
});
afterEach(() => {
  vi.useRealTimers();
  server.closeAllConnections();
  server.close();
});

/** Answers at the very block that is asked for, as a node does. */
function at(method: string, [of, block]: [{ data: Hex } | Hex, string], times: number): Hex | null {
  const state = chain.get(block === "latest" ? head : Number(block));
  if (state === undefined || refused(times)) return null;
  if (method === "eth_getTransactionCount") return of === signer ? `0x${state.sent.toString(16)}` : null;
  const { functionName } = decodeFunctionData({ abi: inferenceEscrowAbi, data: (of as { data: Hex }).data });
  if (functionName !== "accountOf") return null;
  const result = { ...nobody, free: state.free, escrowed: state.escrowed };
  return encodeFunctionResult({ abi: inferenceEscrowAbi, functionName, result });
}

/** A new block at the node. */
function mine(state: State): void {
  head += 1;
  chain.set(head, state);
}

/** A batch of ours with one event in the block, as its receipt tells. */
function batch(block: number, nonce: number, name: string, job: Hex, balance: { free: number; escrowed: number }) {
  const event = { name, args: { wallet, jobId: job, ...balance }, position: logPosition(block, 3) };
  return {
    hash: "0x",
    nonce,
    blockNumber: block,
    blockHash: "0x",
    blockTime: 1,
    success: true,
    eventsByJob: new Map([[job, [event]]]),
    failures: new Map(),
  } as unknown as MinedBatch;
}
const completes = (job: Hex): Operation[] => [{ kind: "complete", jobId: job, data: "0x", deadline: 0 }];

describe("a node that closes a kept connection in the moment it is used", () => {
  it.each(["eth_blockNumber", "eth_call"])("costs no balance, whether at %s", async (method) => {
    unanswered = (one, times) => one === method && times === 1;
    expect(await balances.read(wallet)).toEqual({ free: 700, escrowed: 30 });
  });

  it("is asked twice, not for ever", async () => {
    unanswered = () => true;
    await expect(balances.read(wallet)).rejects.toBeInstanceOf(RpcUnreachable);
    expect(asked).toHaveLength(2);
  });
});

describe("a node that is behind the one asked first", () => {
  it("does not have the block yet: it is asked again", async () => {
    refused = (times) => times === 1;
    expect(await balances.read(wallet)).toEqual({ free: 700, escrowed: 30 });
  });

  it("and stays so: it counts as out of reach", async () => {
    refused = () => true;
    await expect(balances.read(wallet)).rejects.toBeInstanceOf(RpcUnreachable);
  });

  it("does not put its older balance over a newer one", async () => {
    balances.observe(batch(17, 1, "JobLocked", jobId, { free: 600, escrowed: 130 }));
    expect(await balances.read(wallet)).toEqual({ free: 600, escrowed: 130 });
    expect(balances.known(wallet)).toEqual({ free: 600, escrowed: 130 });
  });
});

describe("what a settlement returns", () => {
  it("is in the balance from the moment it is expected, and once only when the chain has it before we know", async () => {
    await balances.read(wallet);
    balances.expectReturn(wallet, jobId, 22, UNTIL);
    expect(balances.known(wallet)).toEqual({ free: 722, escrowed: 8 });
    balances.sent(4, completes(jobId));
    expect(await balances.read(wallet)).toEqual({ free: 722, escrowed: 8 });
    // Mined, its receipt not seen.
    mine({ free: 722, escrowed: 0, sent: 5 });
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
    mine({ free: 710, escrowed: 20, sent: 5 });
    expect(await balances.read(wallet)).toEqual({ free: 715, escrowed: 15 });
  });

  it("counts once when it is expected, sent and mined while the balance is being read", async () => {
    before = (method) => {
      if (method !== "eth_blockNumber") return;
      balances.expectReturn(wallet, jobId, 22, UNTIL);
      balances.sent(4, completes(jobId));
      mine({ free: 722, escrowed: 0, sent: 5 });
    };
    expect(await balances.read(wallet)).toEqual({ free: 722, escrowed: 8 });
  });

  it("costs one question more, however many there are", async () => {
    const jobs = Array.from({ length: 300 }, (_, index): Hex => `0x${index.toString(16).padStart(32, "0")}`);
    for (const job of jobs) balances.expectReturn(wallet, job, 1, UNTIL);
    balances.sent(4, jobs.slice(0, 100).flatMap(completes));
    balances.sent(5, jobs.slice(100, 200).flatMap(completes));
    mine({ free: 800, escrowed: 400, sent: 5 });
    expect(await balances.read(wallet)).toEqual({ free: 1_000, escrowed: 200 });
    expect(asked.toSorted()).toEqual(["eth_blockNumber", "eth_call", "eth_getTransactionCount"]);
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
    mine({ free: 700, escrowed: 30, sent: 5 });
    expect(await balances.read(wallet)).toEqual({ free: 700, escrowed: 30 });
    balances.sent(null, completes(jobId));
    expect(balances.known(wallet)).toEqual({ free: 722, escrowed: 8 });
  });

  it("no longer counts when the settlement can no longer be mined: others may have ended the job", async () => {
    balances.expectReturn(wallet, jobId, 22, UNTIL);
    time = UNTIL - 1;
    expect(await balances.read(wallet)).toEqual({ free: 722, escrowed: 8 });
    time = UNTIL;
    expect(balances.known(wallet)).toEqual({ free: 700, escrowed: 30 });
    mine({ free: 730, escrowed: 0, sent: 4 });
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

describe("the block of our newest transaction", () => {
  it("holds more than our own events: a deposit in it is seen", async () => {
    mine({ free: 1_600, escrowed: 130, sent: 4 });
    balances.observe(batch(17, 1, "JobLocked", jobId, { free: 600, escrowed: 130 }));
    expect(await balances.read(wallet)).toEqual({ free: 1_600, escrowed: 130 });
    expect(balances.known(wallet)).toEqual({ free: 1_600, escrowed: 130 });
  });

  it("is asked for once, not with every request until another follows", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    mine({ free: 600, escrowed: 130, sent: 4 });
    balances.observe(batch(17, 1, "JobLocked", jobId, { free: 600, escrowed: 130 }));
    await balances.current(wallet);
    expect(asked).toEqual([]);
    vi.advanceTimersByTime(1_500);
    await balances.current(wallet);
    expect(asked).toEqual(["eth_blockNumber", "eth_call"]);
    await balances.current(wallet);
    expect(asked).toHaveLength(2);
  });
});

describe("several who ask at once", () => {
  it("share one read", async () => {
    const all = await Promise.all([1, 2, 3, 4].map(() => balances.current(wallet)));
    expect(all).toEqual(Array(4).fill({ free: 700, escrowed: 30 }));
    expect(asked).toEqual(["eth_blockNumber", "eth_call"]);
  });

  it("after a deposit, while a read from before it is under way: both see the deposit, with one read more", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const { promise: underWay, resolve: arrived } = Promise.withResolvers<void>();
    before = (method, times) => {
      if (method !== "eth_call" || times > 1) return;
      arrived();
      return answered;
    };
    const first = balances.read(wallet);
    await underWay;
    mine({ free: 1_700, escrowed: 30, sent: 4 });
    vi.advanceTimersByTime(1);
    const later = [balances.read(wallet), balances.read(wallet)];
    answer();
    expect(await first).toEqual({ free: 700, escrowed: 30 });
    expect(await Promise.all(later)).toEqual(Array(2).fill({ free: 1_700, escrowed: 30 }));
    expect(asked).toHaveLength(4);
  });

  it("are not kept by a failed read from asking again", async () => {
    unanswered = () => asked.length <= 2;
    await expect(balances.read(wallet)).rejects.toBeInstanceOf(RpcUnreachable);
    expect(await balances.read(wallet)).toEqual({ free: 700, escrowed: 30 });
  });
});

it("read for a request is not read for it again", async () => {
  const since = performance.now();
  await balances.current(wallet);
  expect(await balances.read(wallet, since)).toEqual({ free: 700, escrowed: 30 });
  expect(asked).toEqual(["eth_blockNumber", "eth_call"]);
});
