/** Answers that are made once for all who ask: for how long, and how much they may take. */
import { expect, it } from "vitest";
import { RpcTooLong, RpcUnreachable } from "../../../../api/chain/rpc.ts";
import { AnswerCache } from "../../../../web/server/answer-cache.ts";

let time = 0;
const cache = (bytes = 1_000) =>
  new AnswerCache<string>({ keptMs: (answer) => (answer === "new" ? 0 : 100), bytes, now: () => time });

/** What is made for a key, and how often. */
function maker(answer: string | Error) {
  const made = { times: 0, make: async () => "" };
  made.make = async () => {
    made.times += 1;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return made;
}

it("an answer is made once while it is kept, and anew after that", async () => {
  const [answers, made] = [cache(), maker("old")];
  const all = await Promise.all([1, 2, 3].map(() => answers.get("a", made.make)));
  expect(all.map(String)).toEqual(['"old"', '"old"', '"old"']);
  expect(made.times).toBe(1);
  time += 100;
  await answers.get("a", made.make);
  expect(made.times).toBe(2);
});

it("an answer that changes by the moment is not kept", async () => {
  const [answers, made] = [cache(), maker("new")];
  for (const _ of [1, 2]) await answers.get("a", made.make);
  expect(made.times).toBe(2);
});

it.each([
  ["of an answer that is too long, for 30 seconds", new RpcTooLong("eth_x", 1), 30_000],
  ["of any other kind, for one second", new RpcUnreachable("eth_x", null), 1_000],
])("an error is kept: %s", async (_title, error, keptMs) => {
  const [answers, made] = [cache(), maker(error)];
  const ask = () => expect(answers.get("a", made.make)).rejects.toBe(error);
  await ask();
  time += keptMs - 1;
  await ask();
  expect(made.times).toBe(1);
  time += 1;
  await ask();
  expect(made.times).toBe(2);
});

it("the oldest answers go where all together are too long", async () => {
  const answers = cache(100);
  const [first, second, third] = [maker("a".repeat(38)), maker("b".repeat(38)), maker("c".repeat(38))];
  await answers.get("a", first.make);
  await answers.get("b", second.make);
  await answers.get("c", third.make);
  await answers.get("b", second.make);
  await answers.get("a", first.make);
  expect([first.times, second.times, third.times]).toEqual([2, 1, 1]);
});
