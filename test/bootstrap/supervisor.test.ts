import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { logFile } from "../../scripts/local-stack/logs.ts";
import type { PartSpec } from "../../scripts/local-stack/part.ts";
import { removeDataDir } from "../../scripts/local-stack/postgres-home.ts";
import { Supervisor } from "../../scripts/local-stack/supervisor.ts";
import { plainEnv, temporaryDataDir } from "../support/stack.ts";

describe("a part that ends during its start", () => {
  let dataDir = "";
  let lines: string[];
  let supervisor: Supervisor;

  beforeEach(() => {
    dataDir = temporaryDataDir();
    lines = [];
    supervisor = new Supervisor({
      dataDir,
      report: (line) => lines.push(line),
      onDeath: () => {},
      abort: new AbortController().signal,
    });
  });
  afterEach(async () => {
    await supervisor.stop();
    removeDataDir(dataDir);
  });

  const part = (says: string): PartSpec => ({
    name: "part",
    command: process.execPath,
    args: ["-e", `console.log(${JSON.stringify(says)}); process.exitCode = 1`],
    env: plainEnv(),
    ready: async () => false,
    readyTimeoutMs: 60_000,
    stop: { rank: 0, signal: "SIGTERM", deadlineMs: 5_000 },
    hint: "wait.",
  });
  const said = (text: string): number => readFileSync(logFile(dataDir, "part"), "utf8").split(text).length - 1;

  it("is started again while its failure can pass, and fails with it at the end of that time", async () => {
    const launched = supervisor.launch({ ...part("the block is taken"), passing: { says: /is taken/, forMs: 1 } });
    await expect(launched).rejects.toThrow(
      /part ended with exit code 1[\s\S]*the block is taken[\s\S]*What to do: wait/,
    );
    expect(lines).toEqual(["part cannot start yet and is tried again: the block is taken"]);
    expect(said("the block is taken")).toBeGreaterThan(1);
  });

  it("is started again until it stays", async () => {
    const flag = join(dataDir, "second-time");
    const spec = part("the block is taken");
    const stays = `const fs = require("node:fs"), flag = ${JSON.stringify(flag)};
      if (fs.existsSync(flag)) { console.log("here to stay"); setInterval(() => {}, 1000); }
      else { fs.writeFileSync(flag, ""); ${spec.args[1]} }`;
    await supervisor.launch({
      ...spec,
      args: ["-e", stays],
      ready: async () => said("here to stay") > 0,
      passing: { says: /is taken/, forMs: 60_000 },
    });
    expect(said("the block is taken")).toBe(1);
    expect(supervisor.parts()).toMatchObject([{ name: "part", running: true }]);
  });

  it("fails at once with a reason that stays", async () => {
    const launched = supervisor.launch({ ...part("the disk is full"), passing: { says: /is taken/, forMs: 60_000 } });
    await expect(launched).rejects.toThrow(/the disk is full/);
    expect(lines).toEqual([]);
    expect(said("the disk is full")).toBe(1);
  });
});
