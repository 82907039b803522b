import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ask, isRunning, run } from "./support/programs.ts";

const WAITS = ["scripts/bootstrap/run.mjs", "node", "test/bootstrap/support/waits.ts"];

describe("run.mjs", () => {
  it("passes arguments in and the exit code out", async () => {
    const script = "process.exit(process.argv.slice(1).join() === 'a,b c' ? 5 : 1)";
    expect(await run(["scripts/bootstrap/run.mjs", "node", "-e", script, "a", "b c"]).ended).toBe(5);
  });

  it("passes Ctrl-C on and waits for the end", async () => {
    const program = run(WAITS);
    await program.said("waiting");
    program.child.kill("SIGINT");
    expect(await program.ended).toBe(7);
    expect(program.output().match(/got SIGINT/g)).toHaveLength(1);
  });

  it("takes npm's repetition for the same Ctrl-C, and a later one for another", async () => {
    const counted = `(() => {
      let time = 0, calls = 0;
      const forward = m.oncePer(500, () => calls++, () => time);
      return [0, 499, 500, 999, 1000].map((at) => { time = at; forward(); return calls; }).join();
    })()`;
    expect(await ask(counted, "child.mjs")).toBe("1,1,2,2,3");
  });

  it("outlives a second Ctrl-C and a signal of another kind: the program decides about its end", async () => {
    const program = run([...WAITS, "3"]);
    await program.said("waiting");
    program.child.kill("SIGINT");
    await program.said("got SIGINT");
    // From here on it is another Ctrl-C, not npm's repetition of the first.
    await sleep(600);
    program.child.kill("SIGINT");
    await program.said("got SIGINT\ngot SIGINT");
    program.child.kill("SIGTERM");
    expect(await program.ended).toBe(7);
    expect(program.output()).toContain("got SIGTERM");
  });

  it("is not ended by a signal between two programs, and does not run the second", async () => {
    const folder = mkdtempSync(join(tmpdir(), "signals-"));
    try {
      const go = join(folder, "go");
      const program = run(["test/bootstrap/support/two-programs.mjs", go]);
      await program.said("between the two");
      program.child.kill("SIGINT");
      writeFileSync(go, "");
      expect(await program.ended).toBe(0);
      expect(program.output()).toContain("exit codes 0 and 130");
      expect(program.output()).not.toContain("the second runs");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("killed with -9, leaves no program behind: that one is asked to stop", async () => {
    const program = run(WAITS);
    await program.said("waiting");
    const pid = Number(program.output().match(/waiting as (\d+)/)?.[1]);
    program.child.kill("SIGKILL");
    await program.ended;
    expect(program.output()).toContain("got SIGTERM");
    // A process closes its output a little before it is gone.
    await expect.poll(() => isRunning(pid), { timeout: 60_000 }).toBe(false);
  });

  it("says what it can do when asked for something else", async () => {
    const program = run(["scripts/bootstrap/run.mjs", "strat"]);
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(/unknown command "strat"; use start, test/);
  });
});
