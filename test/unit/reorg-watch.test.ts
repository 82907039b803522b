/** Behind a load balancer a node can be a block behind the one that was asked before: that is no reorganisation. */
import { pino } from "pino";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { OutboxRow } from "../../api/chain/outbox.ts";
import { ReorgWatch } from "../../api/chain/reorg-watch.ts";
import type { Rpc } from "../../api/chain/rpc.ts";
import type { SigningContext } from "../../api/chain/transaction.ts";

const MINED = { nonce: 6, block: 20, hash: "0xaa" };

/** What the nodes say at each look, the last one from then on: the signer's count, and the hash of the block of nonce 6. */
let looks: { count: number; hash: string | null }[];
let takenBack: string[];
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch(): ReorgWatch {
  takenBack = [];
  const row = { nonce: MINED.nonce, items: [{ jobId: "0x06" }] } as unknown as OutboxRow;
  let open = false;
  let look = -1;
  const now = () => looks[Math.min(look, looks.length - 1)] as (typeof looks)[number];
  const context = {
    account: { address: "0x01" },
    logger: pino({ level: "silent" }),
    maySend: () => true,
    term: () => 0,
    outbox: {
      minedAbove: async () => (open ? [] : [MINED]),
      lastMined: async () => (open ? MINED.nonce - 1 : MINED.nonce),
      mined: async (nonces: number[], from: number, to: number) =>
        !open && (nonces.includes(MINED.nonce) || (from <= MINED.nonce && MINED.nonce <= to)) ? [row] : [],
      markUnmined: async () => {
        open = true;
      },
    },
    takenBack: async (jobIds: string[]) => void takenBack.push(...jobIds),
  } as unknown as SigningContext;
  const request = async (method: string, [tag]: [string]) => {
    if (method === "eth_getTransactionCount") return `0x${now().count.toString(16)}`;
    if (tag === "latest") look += 1;
    else if (Number(tag) === MINED.block) return now().hash && { number: tag, hash: now().hash };
    return { number: "0x20", hash: `0x${look}` };
  };
  return new ReorgWatch(context, { request } as unknown as Rpc);
}

const here = { count: 7, hash: "0xaa" };
const cases = [
  ["lacks its block", { count: 6, hash: null }],
  ["has another block in its place", { count: 7, hash: "0xbb" }],
] as const;

it.each(cases)("a transaction is not lost at the start because a node %s at one look", async (_, behind) => {
  looks = [behind, here];
  const lost = watch().lostMeanwhile();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await lost).toEqual([]);
});

it.each(cases)("one of which every look says that a node %s is lost", async (_, gone) => {
  looks = [gone];
  const lost = watch().lostMeanwhile();
  await vi.advanceTimersByTimeAsync(60_000);
  expect((await lost).map(({ nonce }) => nonce)).toEqual([6]);
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
  expect(takenBack).toEqual(["0x06"]);
  expect(again).toHaveBeenCalledOnce();
});
