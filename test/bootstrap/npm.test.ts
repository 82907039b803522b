import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { isRunning, run } from "./support/programs.ts";

const WAITS = ["test/bootstrap/support/waits.ts"];

describe("a program that npm starts", () => {
  it("takes what npm passes on for the terminal's own Ctrl-C", async () => {
    const program = run(WAITS);
    await program.said("waiting");
    program.child.kill("SIGINT");
    program.child.kill("SIGINT");
    expect(await program.ended).toBe(7);
    expect(program.output().match(/got SIGINT/g)).toHaveLength(1);
  });

  it("hears a second Ctrl-C, and a signal of another kind", async () => {
    const program = run([...WAITS, "3"]);
    await program.said("waiting");
    program.child.kill("SIGINT");
    await program.said("got SIGINT");
    await sleep(600);
    program.child.kill("SIGINT");
    await program.said("got SIGINT\ngot SIGINT");
    program.child.kill("SIGTERM");
    expect(await program.ended).toBe(7);
    expect(program.output()).toContain("got SIGTERM");
  });

  it("is asked to stop when npm is killed", async () => {
    const npm = run(
      ["-e", `require("node:child_process").spawn(process.execPath, ${JSON.stringify(WAITS)}, { stdio: "inherit" })`],
      { npm_command: "run-script" },
    );
    await npm.said("waiting");
    const pid = Number(npm.output().match(/waiting as (\d+)/)?.[1]);
    npm.child.kill("SIGKILL");
    await expect.poll(() => npm.output(), { timeout: 60_000 }).toContain("got SIGTERM");
    await expect.poll(() => isRunning(pid), { timeout: 60_000 }).toBe(false);
  });
});
