/** The chain's newest block, as a slow node tells it. */
import { pino } from "pino";
import { expect, it, vi } from "vitest";
import { Head, type Rpc } from "../../../../api/chain/rpc.ts";

const block = (number: number) => ({
  number: `0x${number.toString(16)}`,
  hash: "0x",
  timestamp: `0x${number.toString(16)}`,
});

it("a late answer to an earlier request does not take it back; six later ones do", async () => {
  const answers = Array.from({ length: 8 }).map(() => Promise.withResolvers<unknown>());
  const asked = answers.values();
  const rpc = { request: () => asked.next().value?.promise } as unknown as Rpc;
  const head = new Head(rpc, pino({ level: "silent" }));
  const [first, second] = [head.refresh(), head.refresh()];
  answers[1]?.resolve(block(101));
  expect((await second).number).toBe(101);
  answers[0]?.resolve(block(100));
  expect((await first).number).toBe(101);
  // A reorganisation: one node behind the address may be some blocks late, six answers in a row are not.
  for (const answer of answers.slice(2)) answer.resolve(block(99));
  for (let look = 1; look < 6; look++) expect((await head.refresh()).number).toBe(101);
  expect((await head.refresh()).number).toBe(99);
});

it("is silent once its node has answered nothing for more than five seconds", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const rpc = { request: async () => block(100) } as unknown as Rpc;
    const head = new Head(rpc, pino({ level: "silent" }));
    expect(head.isSilent).toBe(true);
    await head.refresh();
    vi.advanceTimersByTime(5_000);
    expect(head.isSilent).toBe(false);
    vi.advanceTimersByTime(1);
    expect(head.isSilent).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});
