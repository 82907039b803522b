/** Behind a load balancer a node can be a block behind the one that was asked before: that is no reorganisation. */
import { pino } from "pino";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { OutboxRow } from "../../../../api/chain/outbox.ts";
import { ReorgWatch } from "../../../../api/chain/reorg-watch.ts";
import type { Rpc } from "../../../../api/chain/rpc.ts";
import type { SigningContext } from "../../../../api/chain/transaction.ts";

const MINED = [
  { nonce: 6, block: 20, hash: "0xaa" },
  { nonce: 7, block: 21, hash: "0xcc" },
];

/** What the nodes say at each look, the last one from then on: the signer's count, the hashes of the blocks of nonces 6 and 7, and the newest block. */
let looks: { count: number; hashes: readonly (string | null)[]; newest?: { number: string; hash: string } }[];
let takenBack: string[];
let look: number;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch(): ReorgWatch {
  takenBack = [];
  look = -1;
  const open = new Set<number>();
  const mined = () => MINED.filter(({ nonce }) => !open.has(nonce));
  const now = () => looks[Math.min(look, looks.length - 1)] as (typeof looks)[number];
  const context = {
    account: { address: "0x01" },
    logger: pino({ level: "silent" }),
    maySend: () => true,
    term: () => 0,
    outbox: {
      minedAbove: async () => mined(),
      lastMined: async () => mined().at(-1)?.nonce ?? -1,
      mined: async (nonces: number[], from: number, to: number) =>
        mined()
          .filter(({ nonce }) => nonces.includes(nonce) || (from <= nonce && nonce <= to))
          .map(({ nonce }) => ({ nonce, items: [{ jobId: `0x0${nonce}` }] }) as unknown as OutboxRow),
      markUnmined: async (nonce: number) => void open.add(nonce),
    },
    takenBack: async (jobIds: string[]) => void takenBack.push(...jobIds),
  } as unknown as SigningContext;
  const request = async (method: string, [tag]: [string]) => {
    if (method === "eth_getTransactionCount") return `0x${now().count.toString(16)}`;
    if (tag === "latest") look += 1;
    const place = MINED.findIndex(({ block }) => block === Number(tag));
    if (tag === "latest" || place < 0) return now().newest ?? { number: "0x20", hash: `0x${look}` };
    const hash = now().hashes[place];
    return hash && { number: tag, hash };
  };
  return new ReorgWatch(context, { request } as unknown as Rpc);
}

const here = { count: 8, hashes: ["0xaa", "0xcc"] };
const cases = [
  ["lacks its block", { count: 7, hashes: ["0xaa", null] }],
  ["has another block in its place", { count: 8, hashes: ["0xaa", "0xbb"] }],
] as const;

it.each(cases)("a transaction is not lost at the start because a node %s at one look", async (_, behind) => {
  looks = [behind, here];
  const done = watch().takeBackLost();
  await vi.advanceTimersByTimeAsync(60_000);
  await done;
  expect(takenBack).toEqual([]);
});

it.each(cases)("one of which every look says that a node %s is lost", async (_, gone) => {
  looks = [gone];
  const done = watch().takeBackLost();
  await vi.advanceTimersByTimeAsync(60_000);
  await done;
  expect(takenBack).toEqual(["0x07"]);
});

it("takes back two that were missed at different looks, once each", async () => {
  looks = [
    { count: 8, hashes: ["0xaa", "0xbb"] },
    { count: 8, hashes: ["0xbb", "0xbb"] },
  ];
  let done = false;
  void watch()
    .takeBackLost()
    .then(() => {
      done = true;
    });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(done).toBe(true);
  expect(takenBack).toEqual(["0x07", "0x06"]);
});

it.each(cases)("a running gateway takes nothing back for a node that now and then %s", async (_, behind) => {
  looks = [behind, here, behind, behind, here, behind, here];
  const watching = watch();
  watching.start(async () => {});
  await vi.advanceTimersByTimeAsync(60_000);
  watching.stop();
  expect(takenBack).toEqual([]);
});

it.each(cases)("a running gateway takes back, once, what stays lost: a node %s", async (_, gone) => {
  looks = [here, gone];
  const watching = watch();
  const again = vi.fn(async () => {});
  watching.start(again);
  await vi.advanceTimersByTimeAsync(60_000);
  watching.stop();
  expect(takenBack).toEqual(["0x07"]);
  expect(again).toHaveBeenCalledOnce();
});

it("takes back what was mined after the newest block of a look, and removed before the next", async () => {
  const newest = (hash: string) => ({ number: "0x14", hash });
  looks = [
    { ...here, newest: newest("0xaa") },
    { count: 8, hashes: ["0xaa", "0xbb"], newest: newest("0xaa") },
    { count: 8, hashes: ["0xaa", "0xbb"], newest: { number: "0x15", hash: "0xbb" } },
  ];
  const watching = watch();
  watching.start(async () => {});
  await vi.advanceTimersByTimeAsync(60_000);
  watching.stop();
  expect(takenBack).toEqual(["0x07"]);
});
