import { describe, expect, it } from "vitest";
import { WriteLane } from "../../../shared/write-lane.ts";

/** A database whose statements end when the test says so. */
function database() {
  const statements: { rows: readonly string[]; end: (error?: Error) => void }[] = [];
  const write = (rows: readonly string[]) =>
    new Promise<void>((resolve, reject) => {
      statements.push({ rows, end: (error) => (error ? reject(error) : resolve()) });
    });
  return { statements, write };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a lane of writes", () => {
  it("sends the first at once and what comes meanwhile together", async () => {
    const { statements, write } = database();
    const lane = new WriteLane(write);
    const writes = ["a", "b", "c"].map((row) => lane.add(row));
    expect(statements.map(({ rows }) => rows)).toEqual([["a"]]);
    statements[0]?.end();
    await writes[0];
    await settled();
    expect(statements.map(({ rows }) => rows)).toEqual([["a"], ["b", "c"]]);
    statements[1]?.end();
    await Promise.all(writes);
    void lane.add("d");
    expect(statements.map(({ rows }) => rows)).toEqual([["a"], ["b", "c"], ["d"]]);
  });

  it("tells no writer of success before its own statement has ended", async () => {
    const { statements, write } = database();
    const lane = new WriteLane(write);
    let done = false;
    void lane.add("a");
    void lane.add("b").then(() => {
      done = true;
    });
    statements[0]?.end();
    await settled();
    expect(statements).toHaveLength(2);
    expect(done).toBe(false);
  });

  it("writes rows alone when a statement of several fails: only the bad one is told", async () => {
    const lane = new WriteLane<string>(async (rows) => {
      if (rows.includes("bad")) throw new Error("a bad row");
    });
    const outcomes = await Promise.allSettled(["a", "b", "bad", "c"].map((row) => lane.add(row)));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    await expect(lane.add("d")).resolves.toBeUndefined();
  });
});
