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

/**
 * What the nodes say at each look, the last one from then on: the signer's count, the hashes of the blocks of nonces 6 and 7, and the newest block.
 * `before`: the hash of a block in which none of these is, such as the newest one of the look before; where it is left out, the newest block's.
 */
type Look = {
  count: number;
  hashes: readonly (string | null)[];
  newest?: { number: string; hash: string };
  before?: () => string;
  /** The node does not say which block is the newest one. */
  isAway?: boolean;
};
const noAnswer = () => {
  throw new Error("the node does not answer");
};
let looks: Look[];
let takenBack: string[];
let look: number;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch(): ReorgWatch {
  takenBack = [];
  look = -1;
  const open = new Set<number>();
  const mined = () => MINED.filter(({ nonce }) => !open.has(nonce));
  const now = () => looks[Math.min(look, looks.length - 1)] as Look;
  const context = {
    account: { address: "0x01" },
    logger: pino({ level: "silent" }),
    maySend: () => true,
    term: () => 0,
    outbox: {
      minedAbove: async (above: number) => mined().filter(({ block }) => block > above),
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
    if (now().isAway) return noAnswer();
    const place = MINED.findIndex(({ block }) => block === Number(tag));
    const { before } = now();
    if (tag !== "latest" && place < 0 && before !== undefined) return { number: tag, hash: before() };
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

const newest = (number: string, hash: string) => ({ newest: { number, hash } });
const removed = { count: 8, hashes: ["0xaa", "0xbb"] };

it.each<[string, Look[]]>([
  [
    "was mined after the newest block of a look, and removed before the next",
    [
      { ...here, ...newest("0x14", "0xaa") },
      { ...removed, ...newest("0x14", "0xaa") },
      { ...removed, ...newest("0x15", "0xbb") },
    ],
  ],
  [
    "was removed after a look of which one node was behind the others",
    [
      { ...here, ...newest("0x16", "0x01") },
      { ...here, ...newest("0x14", "0xaa"), before: () => "0x01" },
      { ...removed, ...newest("0x16", "0x02") },
    ],
  ],
  [
    "was removed before a look that the node broke off",
    [
      { ...here, ...newest("0x16", "0x01") },
      { ...removed, ...newest("0x16", "0x02"), before: noAnswer },
      { ...removed, ...newest("0x16", "0x02") },
    ],
  ],
])("takes back what %s", async (_, seen) => {
  looks = seen;
  const watching = watch();
  watching.start(async () => {});
  await vi.advanceTimersByTimeAsync(60_000);
  watching.stop();
  expect(takenBack).toEqual(["0x07"]);
});

it("takes back what is lost although each second look is broken off", async () => {
  const gone = { ...removed, ...newest("0x16", "0x02") };
  const broken = { ...gone, before: noAnswer };
  looks = [{ ...here, ...newest("0x16", "0x01") }, ...Array.from({ length: 20 }, () => [gone, broken]).flat()];
  const watching = watch();
  watching.start(async () => {});
  await vi.advanceTimersByTimeAsync(60_000);
  watching.stop();
  expect(takenBack).toEqual(["0x07"]);
});

it("takes back what was lost while the node was away, however deep it would be by now", async () => {
  const away = { ...here, isAway: true };
  looks = [
    { ...here, ...newest("0x16", "0x01") },
    ...Array.from({ length: 60 }, () => away),
    { ...removed, ...newest("0x100", "0x02") },
  ];
  const watching = watch();
  watching.start(async () => {});
  await vi.advanceTimersByTimeAsync(180_000);
  watching.stop();
  expect(takenBack).toEqual(["0x07"]);
});
