import { describe, expect, it } from "vitest";
import { Turns } from "../../../shared/turns.ts";

describe("work that holds up the event loop", () => {
  const busy = (ms: number) => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  };
  const signal = new AbortController().signal;

  it("is done for the owner who has used the least time of late", async () => {
    const turns = new Turns(0);
    const done: string[] = [];
    const piece = (owner: string, ms: number) =>
      turns.run(owner, signal, () => {
        done.push(owner);
        busy(ms);
      });
    await Promise.all([piece("a", 5), piece("a", 1), piece("b", 20), piece("c", 1), piece("a", 1)]);
    expect(done).toEqual(["a", "b", "c", "a", "a"]);
    // Another round: who had one long piece before waits for those who had short ones.
    done.length = 0;
    await Promise.all([piece("d", 1), piece("b", 1), piece("a", 1), piece("c", 1)]);
    expect(done).toEqual(["d", "c", "a", "b"]);
  });

  it("is done for those who pay before it is for those who come for the first time", async () => {
    const turns = new Turns(0);
    const done: string[] = [];
    const piece = (owner: string) =>
      turns.run(owner, signal, () => {
        done.push(owner);
        busy(5);
      });
    await piece("pays");
    turns.earned("pays");
    await Promise.all(["first", "a", "b", "pays", "c"].map(piece));
    expect(done).toEqual(["pays", "pays", "first", "a", "b", "c"]);
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
