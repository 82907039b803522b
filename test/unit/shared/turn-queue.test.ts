/** Whose turn it is in a queue, and who has no room in a full one. */
import { describe, expect, it } from "vitest";
import { TurnQueue } from "../../../shared/turn-queue.ts";
import { Random } from "../../support/random.ts";

type One = { name: string; owner: string };

/** `a1` is the first entry of the owner a. */
const one = (name: string): One => ({ name, owner: name.replace(/\d/g, "") });

/** Fills a queue with these, in this order; the names of those that had no room. */
function filled(names: string, most = 100) {
  const queue = new TurnQueue<One>(most);
  const all = names.split(" ").map(one);
  const crowded = all.flatMap((each) => queue.add(each)?.name ?? []);
  return { queue, crowded, all };
}

const next = (queue: TurnQueue<One>, serves: (one: One) => boolean = () => true) => queue.next(serves);

/** Serves all; their names. */
function served(queue: TurnQueue<One>): string {
  const names: string[] = [];
  for (let one = next(queue); one !== undefined; one = next(queue)) names.push(one.name);
  return names.join(" ");
}

describe("the order", () => {
  it.each([
    ["is that of arrival for one owner", "a1 a2 a3", "a1 a2 a3"],
    ["gives each owner one turn, however many entries it has", "a1 a2 a3 a4 b1 c1", "a1 b1 c1 a2 a3 a4"],
    ["goes round", "a1 a2 b1 b2 c1 c2", "a1 b1 c1 a2 b2 c2"],
  ])("%s", (_what, arrived, expected) => {
    const { queue } = filled(arrived);
    expect(served(queue)).toBe(expected);
    expect(queue.size).toBe(0);
  });

  it("puts an owner that was served behind all others, also when it comes again", () => {
    const { queue } = filled("a1 b1 c1");
    expect(next(queue)?.name).toBe("a1");
    queue.add(one("a2"));
    queue.add(one("d1"));
    expect(served(queue)).toBe("b1 c1 a2 d1");
  });

  it("passes over an owner whose oldest entry cannot be served; it keeps its turn", () => {
    const { queue } = filled("a1 a2 b1 c1");
    expect(next(queue, ({ owner }) => owner !== "a")?.name).toBe("b1");
    expect(served(queue)).toBe("a1 c1 a2");
  });

  it("leaves out those that have left", () => {
    const { queue, all } = filled("a1 a2 b1");
    for (const at of [0, 2]) queue.delete(all[at] as One);
    // A second time, nothing happens.
    queue.delete(all[0] as One);
    expect([queue.size, served(queue)]).toEqual([1, "a2"]);
  });

  it("serves any owner within one turn of each other, whatever arrives", () => {
    const random = new Random(1);
    const owners = ["a", "b", "c", "d"];
    const queue = new TurnQueue<One>(10_000);
    /** Entries of each owner that wait, and turns of others since its last one. */
    const [waiting, passed] = [new Map<string, number>(), new Map<string, number>()];
    for (let n = 0; n < 5_000; n++) {
      const owner = owners[Math.floor(random.next() ** 3 * owners.length)] as string;
      queue.add(one(`${owner}${n}`));
      waiting.set(owner, (waiting.get(owner) ?? 0) + 1);
      if (random.next() < 0.4) continue;
      const { owner: served } = next(queue) as One;
      waiting.set(served, (waiting.get(served) ?? 0) - 1);
      for (const other of owners) passed.set(other, waiting.get(other) ? (passed.get(other) ?? 0) + 1 : 0);
      passed.set(served, 0);
      expect(Math.max(...passed.values())).toBeLessThan(owners.length);
    }
  });
});

describe("a full queue", () => {
  it.each([
    ["is full at its bound", "a1 b1 c1", 3, []],
    ["refuses the newcomer of the owner that has the most", "a1 a2 b1 a3", 3, ["a3"]],
    ["takes another owner's newcomer for the newest of that owner", "a1 a2 a3 b1", 3, ["a3"]],
    ["refuses a newcomer where all owners have as many", "a1 b1 c1 d1", 3, ["d1"]],
    ["of nothing takes nobody", "a1", 0, ["a1"]],
  ])("%s", (_what, arrived, most, expected) => {
    const { queue, crowded } = filled(arrived, most);
    expect(crowded).toEqual(expected);
    expect(queue.size).toBe(arrived.split(" ").length - expected.length);
  });
});
