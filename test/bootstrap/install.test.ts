import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ask } from "./support/programs.ts";

describe("whether the dependencies are installed", () => {
  let root = "";
  const write = (file: string, packages: object): void => writeFileSync(join(root, file), JSON.stringify({ packages }));
  const isInstalled = (): Promise<string> => ask(`m.isInstalled(${JSON.stringify(root)})`, "install-state.mjs");
  const wanted = {
    "node_modules/a": { version: "1.0.0" },
    "node_modules/here": { version: "1.0.0", optional: true, os: [process.platform], cpu: [process.arch] },
    "node_modules/elsewhere": { version: "1.0.0", optional: true, os: ["sunos"] },
  };
  const { "node_modules/elsewhere": _, ...complete } = wanted;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "install-"));
    mkdirSync(join(root, "node_modules"));
    write("package-lock.json", wanted);
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it("not without the list that npm writes last", async () => expect(await isInstalled()).toBe("false"));

  it("yes when only another platform's packages are missing", async () => {
    write("node_modules/.package-lock.json", complete);
    expect(await isInstalled()).toBe("true");
  });

  it("not when npm under an old Node left out a native package of this platform", async () => {
    write("node_modules/.package-lock.json", { "node_modules/a": { version: "1.0.0" } });
    expect(await isInstalled()).toBe("false");
  });

  it("not after the lock file has changed, stamped or not", async () => {
    write("node_modules/.package-lock.json", complete);
    await ask(`m.stampInstalled(${JSON.stringify(root)})`, "install-state.mjs");
    expect(await isInstalled()).toBe("true");
    write("package-lock.json", { ...wanted, "node_modules/a": { version: "1.0.1" } });
    expect(await isInstalled()).toBe("false");
  });
});

describe("the installation lock", () => {
  const folder = mkdtempSync(join(tmpdir(), "lock-"));
  const file = JSON.stringify(join(folder, "install.lock"));
  const hold = (ms: number): string =>
    `m.holdLock(${file}).then((release) => new Promise((done) => { const at = Date.now(); setTimeout(() => { release(); done(at + "-" + Date.now()); }, ${ms}); }))`;

  it("lets one at a time in", async () => {
    const answers = await Promise.all([ask(hold(400), "install-lock.mjs"), ask(hold(400), "install-lock.mjs")]);
    const [first, second] = answers
      .map((text) => (text.split("\n").at(-1) ?? "").split("-").map(Number))
      .sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0));
    expect(second?.[0]).toBeGreaterThanOrEqual(first?.[1] ?? Number.POSITIVE_INFINITY);
  });

  it("is taken over from an installation that was killed", async () => {
    writeFileSync(join(folder, "install.lock"), "999999999");
    expect(await ask(hold(1), "install-lock.mjs")).toMatch(/^\d+-\d+$/);
  });
});
