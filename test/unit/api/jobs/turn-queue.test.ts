/** Whose turn it is in a queue of requests, who has no room in a full one, and how fast it moves. */
import { describe, expect, it } from "vitest";
import { QueuePace, TurnQueue } from "../../../../api/jobs/turn-queue.ts";
import { Random } from "../../../support/random.ts";

type One = { name: string; wallet: string; isFirst: boolean };

/** `a1` is the wallet a's first request; `!a1` one that came back. */
const one = (name: string): One => ({
  name,
  wallet: name.replace(/[!\d]/g, ""),
  isFirst: name.startsWith("!"),
});

/** Fills a queue with these, in this order; the names of those that had no room. */
function filled(names: string, most = 100) {
  const queue = new TurnQueue<One>(most);
  const all = names.split(" ").map(one);
  const crowded = all.flatMap((each) => queue.add(each)?.name ?? []);
  return { queue, crowded, all };
}

const next = (queue: TurnQueue<One>, serves: (one: One) => boolean = () => true) =>
  queue.nextReturned(serves) ?? queue.nextInTurn(serves);

/** Serves all; their names. */
function served(queue: TurnQueue<One>): string {
  const names: string[] = [];
  for (let one = next(queue); one !== undefined; one = next(queue)) names.push(one.name);
  return names.join(" ");
}

describe("the order", () => {
  it.each([
    ["is that of arrival for one wallet", "a1 a2 a3", "a1 a2 a3"],
    ["gives each wallet one turn, however many requests it has", "a1 a2 a3 a4 b1 c1", "a1 b1 c1 a2 a3 a4"],
    ["goes round", "a1 a2 b1 b2 c1 c2", "a1 b1 c1 a2 b2 c2"],
    ["begins with those that came back, the oldest first", "a1 b1 !c1 !a2", "!c1 !a2 a1 b1"],
  ])("%s", (_what, arrived, expected) => {
    const { queue } = filled(arrived);
    expect(served(queue)).toBe(expected);
    expect(queue.size).toBe(0);
  });

  it("puts a wallet that was served behind all others, also when it comes again", () => {
    const { queue } = filled("a1 b1 c1");
    expect(next(queue)?.name).toBe("a1");
    queue.add(one("a2"));
    queue.add(one("d1"));
    expect(served(queue)).toBe("b1 c1 a2 d1");
  });

  it("passes over a wallet whose oldest request cannot be served; it keeps its turn", () => {
    const { queue } = filled("a1 a2 b1 c1");
    expect(next(queue, ({ wallet }) => wallet !== "a")?.name).toBe("b1");
    expect(served(queue)).toBe("a1 c1 a2");
  });

  it("leaves out those that have left", () => {
    const { queue, all } = filled("a1 a2 b1 !c1");
    for (const at of [0, 2, 3]) queue.delete(all[at] as One);
    // A second time, nothing happens.
    queue.delete(all[0] as One);
    expect([queue.size, served(queue)]).toEqual([1, "a2"]);
  });

  it("serves any wallet within one turn of each other, whatever arrives", () => {
    const random = new Random(1);
    const wallets = ["a", "b", "c", "d"];
    const queue = new TurnQueue<One>(10_000);
    /** Requests of each wallet that wait, and turns of others since its last one. */
    const [waiting, passed] = [new Map<string, number>(), new Map<string, number>()];
    for (let n = 0; n < 5_000; n++) {
      const wallet = wallets[Math.floor(random.next() ** 3 * wallets.length)] as string;
      queue.add(one(`${wallet}${n}`));
      waiting.set(wallet, (waiting.get(wallet) ?? 0) + 1);
      if (random.next() < 0.4) continue;
      const { wallet: served } = next(queue) as One;
      waiting.set(served, (waiting.get(served) ?? 0) - 1);
      for (const other of wallets) passed.set(other, waiting.get(other) ? (passed.get(other) ?? 0) + 1 : 0);
      passed.set(served, 0);
      expect(Math.max(...passed.values())).toBeLessThan(wallets.length);
    }
  });
});

describe("a full queue", () => {
  it.each([
    ["is full at its bound", "a1 b1 c1", 3, []],
    ["refuses the newcomer of the wallet that has the most", "a1 a2 b1 a3", 3, ["a3"]],
    ["takes another wallet's newcomer for the newest of that wallet", "a1 a2 a3 b1", 3, ["a3"]],
    ["refuses a newcomer where all wallets have as many", "a1 b1 c1 d1", 3, ["d1"]],
    ["always takes what came back", "a1 b1 c1 !d1", 3, []],
    ["of nothing takes nobody", "a1", 0, ["a1"]],
  ])("%s", (_what, arrived, most, expected) => {
    const { queue, crowded } = filled(arrived, most);
    expect(crowded).toEqual(expected);
    expect(queue.size).toBe(arrived.split(" ").length - expected.length);
  });
});

describe("the pace of a queue", () => {
  /** A queue that served one every `everyMs` for a minute. */
  function steady(everyMs: number): QueuePace {
    const pace = new QueuePace();
    for (let now = 0; now <= 60_000; now += everyMs) pace.served(now);
    return pace;
  }

  it.each([
    [100, 50, 5, 6],
    [10, 5_000, 49, 51],
    [1_000, 1, 1, 2],
  ])("one every %i ms: %i are served in %i to %i s", (everyMs, waiting, least, most) => {
    const seconds = steady(everyMs).secondsFor(waiting, 60_000);
    expect(seconds).toBeGreaterThanOrEqual(least);
    expect(seconds).toBeLessThanOrEqual(most);
  });

  it("is at least a second and at most a minute, also of a queue that never moved", () => {
    expect(steady(1).secondsFor(0, 60_000)).toBe(1);
    expect(steady(1_000).secondsFor(1_000_000, 60_000)).toBe(60);
    expect(new QueuePace().secondsFor(1, 0)).toBe(60);
  });

  it("is slower the longer nothing moves", () => {
    const pace = steady(100);
    expect(pace.secondsFor(50, 80_000)).toBeGreaterThan(4 * pace.secondsFor(50, 60_000));
  });
});
