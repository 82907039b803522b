import { afterEach, describe, expect, it, vi } from "vitest";
import { Turns } from "../../../shared/turns.ts";

describe("work that holds up the event loop", () => {
  const busy = (ms: number) => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  };
  const signal = new AbortController().signal;

  afterEach(() => void vi.useRealTimers());
  /** From now on only the work of `turnsOf` moves the clock: what owners have used does not depend on the machine. */
  const stopClock = () => void vi.useFakeTimers({ toFake: ["performance"] });

  /** Does a piece of so many milliseconds for each of these owners, who all wait at once. Returns whose turns came. */
  async function turnsOf(turns: Turns, ...pieces: [owner: string, ms: number][]): Promise<string[]> {
    const done: string[] = [];
    const piece = ([owner, ms]: [string, number]) =>
      turns.run(owner, signal, () => {
        done.push(owner);
        vi.advanceTimersByTime(ms);
      });
    await Promise.all(pieces.map(piece));
    return done;
  }

  it("alternates between the owner of least used time and the one who waited longest", async () => {
    stopClock();
    const turns = new Turns(0);
    await turnsOf(turns, ["much", 20]);
    await turnsOf(turns, ["some", 5]);
    expect(await turnsOf(turns, ["much", 1], ["some", 1], ["none", 1], ["new", 1])).toEqual([
      "none",
      "much",
      "new",
      "some",
    ]);
  });

  it("is done for those who pay before those who come for the first time", async () => {
    stopClock();
    const turns = new Turns(0);
    await turnsOf(turns, ["pays", 5], ["other", 1]);
    turns.earned("pays");
    expect(await turnsOf(turns, ["first", 1], ["second", 1], ["pays", 1])).toEqual(["pays", "first", "second"]);
  });

  it("is done for everybody in the end, however well another pays", async () => {
    const turns = new Turns(0);
    const done: string[] = [];
    let isOver = false;
    const always = async () => {
      while (!isOver) {
        await turns.run("pays", signal, () => void done.push("pays"));
        turns.earned("pays");
      }
    };
    const others = [always(), always()];
    await turns.run("first", signal, () => {});
    isOver = true;
    await Promise.all(others);
    expect(done.length).toBeLessThan(10);
  });

  it("leaves most of the time to everybody else", async () => {
    const turns = new Turns(3);
    const pieces: { begin: number; end: number }[] = [];
    const piece = () => {
      const begin = performance.now();
      busy(10);
      pieces.push({ begin, end: performance.now() });
    };
    await Promise.all(Array.from({ length: 5 }, () => turns.run("a", signal, piece)));
    expect(pieces).toHaveLength(5);
    for (const [index, next] of pieces.slice(1).entries()) {
      const { begin, end } = pieces[index] as (typeof pieces)[0];
      // A timer may end a millisecond early.
      expect(next.begin - end).toBeGreaterThan((end - begin) * 3 - 2);
    }
  });

  it("is not done for those who have left, and goes on after a failure", async () => {
    const turns = new Turns(1);
    const leave = new AbortController();
    const first = turns.run("a", signal, () => busy(20));
    const left = turns.run("a", leave.signal, () => expect.unreachable());
    leave.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    await first;
    const failing = turns.run("a", signal, () => {
      throw new Error("bad");
    });
    await expect(failing).rejects.toThrow("bad");
    expect(await turns.run("a", signal, () => 7)).toBe(7);
  });

  it("that waits for something keeps its turn until it is done", async () => {
    const turns = new Turns(0);
    const read = Promise.withResolvers<string>();
    const first = turns.run("a", signal, () => read.promise);
    let isDone = false;
    const second = turns.run("b", signal, () => {
      isDone = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isDone).toBe(false);
    read.resolve("page");
    expect(await first).toBe("page");
    await second;
  });
});
