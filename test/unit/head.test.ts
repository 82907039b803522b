/** The chain's newest block, as a slow node tells it. */
import { pino } from "pino";
import { expect, it } from "vitest";
import { Head, type Rpc } from "../../api/chain/rpc.ts";

const block = (number: number) => ({
  number: `0x${number.toString(16)}`,
  hash: "0x",
  timestamp: `0x${number.toString(16)}`,
});

it("an answer to an earlier question that comes later does not take it back; a later question can", async () => {
  const answers = [1, 2, 3].map(() => Promise.withResolvers<unknown>());
  const asked = answers.values();
  const rpc = { request: () => asked.next().value?.promise } as unknown as Rpc;
  const head = new Head(rpc, pino({ level: "silent" }));
  const [first, second] = [head.refresh(), head.refresh()];
  answers[1]?.resolve(block(101));
  expect((await second).number).toBe(101);
  answers[0]?.resolve(block(100));
  expect((await first).number).toBe(101);
  // A reorganisation.
  answers[2]?.resolve(block(99));
  expect((await head.refresh()).number).toBe(99);
});
