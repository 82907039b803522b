import { describe, expect, it } from "vitest";
import { isRunning, run } from "./support/programs.ts";

const WAITS = ["scripts/bootstrap/run.mjs", "node", "test/bootstrap/support/waits.ts"];

describe("run.mjs", () => {
  it("passes arguments in and the exit code out", async () => {
    const script = "process.exit(process.argv.slice(1).join() === 'a,b c' ? 5 : 1)";
    expect(await run(["scripts/bootstrap/run.mjs", "node", "-e", script, "a", "b c"]).ended).toBe(5);
  });

  it("passes Ctrl-C on once, although npm sends it a second time, and waits for the end", async () => {
    const program = run(WAITS);
    await program.said("waiting");
    program.child.kill("SIGINT");
    program.child.kill("SIGINT");
    expect(await program.ended).toBe(7);
    expect(program.output().match(/got SIGINT/g)).toHaveLength(1);
  });

  it("killed with -9, leaves no program behind: that one is asked to stop", async () => {
    const program = run(WAITS);
    await program.said("waiting");
    const pid = Number(program.output().match(/waiting as (\d+)/)?.[1]);
    program.child.kill("SIGKILL");
    await program.ended;
    expect(program.output()).toContain("got SIGTERM");
    expect(isRunning(pid)).toBe(false);
  });

  it("says what it can do when asked for something else", async () => {
    const program = run(["scripts/bootstrap/run.mjs", "strat"]);
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(/unknown command "strat"; use start, test/);
  });
});
