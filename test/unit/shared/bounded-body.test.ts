/** Replies of machines that are somebody else's: how much of one is read, in whatever pieces it comes. */
import { describe, expect, it } from "vitest";
import { BodyTooLarge, readBounded, readStart } from "../../../shared/bounded-body.ts";

const LIMIT = 1024 * 1024;

/** A body of such pieces; `state.given` counts them, and `state.ended` says that the reader left. */
function bodyOf(sizes: Iterable<number>) {
  const state = { given: 0, ended: false };
  async function* pieces() {
    try {
      for (const size of sizes) {
        state.given += 1;
        yield Buffer.alloc(size, "x");
      }
    } finally {
      state.ended = true;
    }
  }
  return { state, body: pieces() };
}
function* times(count: number, size: number) {
  for (let n = 0; n < count; n++) yield size;
}

describe("a body of somebody else", () => {
  it("is read up to its limit, and given up one byte beyond it", async () => {
    expect(await readBounded(bodyOf([LIMIT - 1, 1]).body, LIMIT)).toHaveLength(LIMIT);
    const { body, state } = bodyOf([LIMIT, 1, 1]);
    await expect(readBounded(body, LIMIT)).rejects.toThrow(new BodyTooLarge(LIMIT, LIMIT + 1));
    expect(state).toEqual({ given: 2, ended: true });
  });

  it("may come in 4,096 tiny pieces, and is given up at the next one, also after large ones", async () => {
    expect(await readBounded(bodyOf(times(4_096, 63)).body, LIMIT)).toHaveLength(4_096 * 63);
    expect(await readBounded(bodyOf(times(8_000, 64)).body, LIMIT)).toHaveLength(8_000 * 64);
    const { body, state } = bodyOf([LIMIT / 2, ...times(5_000, 1)]);
    await expect(readBounded(body, LIMIT)).rejects.toThrow("the body comes in thousands of tiny pieces");
    expect(state).toEqual({ given: 1 + 4_097, ended: true });
  });

  it("whose beginning is enough is left once that has come, or comes in too many tiny pieces", async () => {
    const long = bodyOf(times(10, 1_000));
    expect(await readStart(long.body, 2_000)).toHaveLength(2_000);
    expect(long.state).toEqual({ given: 3, ended: true });
    const tiny = bodyOf(times(9_000, 1));
    expect((await readStart(tiny.body, LIMIT)).length).toBeGreaterThanOrEqual(4_096);
    expect(tiny.state).toEqual({ given: 4_097, ended: true });
  });
});
