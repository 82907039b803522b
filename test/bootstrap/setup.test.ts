import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { plainEnv } from "../support/stack.ts";
import { isRunning, ROOT } from "./support/programs.ts";

/** A project with one package, which lies in its own folder: npm installs it without a registry. */
const PACKAGE = { name: "project", version: "1.0.0", optionalDependencies: {}, dependencies: { one: "file:one" } };
const LOCK = {
  name: "project",
  version: "1.0.0",
  lockfileVersion: 3,
  requires: true,
  packages: {
    "": PACKAGE,
    "node_modules/one": { resolved: "one", link: true },
    one: { version: "1.0.0" },
  },
};

describe("scripts/setup.mjs", () => {
  let root = "";
  const path = (file: string): string => join(root, file);
  const write = (file: string, value: unknown): void => writeFileSync(path(file), JSON.stringify(value));

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "setup-"));
    mkdirSync(path("scripts"));
    mkdirSync(path("one"));
    copyFileSync(join(ROOT, "scripts/setup.mjs"), path("scripts/setup.mjs"));
    write("one/package.json", { name: "one", version: "1.0.0" });
    write("package.json", PACKAGE);
    write("package-lock.json", LOCK);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  async function setUp(
    args: string[] = [],
    env: NodeJS.ProcessEnv = {},
    onOutput: (output: string) => void = () => {},
  ): Promise<{ code: number | null; output: string }> {
    const child = spawn(process.execPath, [path("scripts/setup.mjs"), ...args], {
      env: { ...plainEnv(), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const add = (data: Buffer): void => {
      output += data;
      onOutput(output);
    };
    for (const stream of [child.stdout, child.stderr]) stream.on("data", add);
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { code, output };
  }

  it("installs what the lock file says, once", async () => {
    const first = await setUp();
    expect(first).toMatchObject({ code: 0, output: expect.stringContaining("Installed the packages in ") });
    expect(existsSync(path("node_modules/one/package.json"))).toBe(true);
    expect(await setUp()).toEqual({ code: 0, output: "" });

    write("package-lock.json", { ...LOCK, version: "1.0.1" });
    expect((await setUp()).output).toContain("Installed the packages in ");
  });

  const USUAL = "/npm/two/-/two-1.0.0.tgz";
  for (const [what, { address, optional = false, asked }] of Object.entries({
    "for a package alone, although the lock file names no address": { address: USUAL, asked: [USUAL] },
    "for an address, where it has one of its own": { address: "/files/two", asked: [USUAL, "/npm/two", "/files/two"] },
    "for the address of what npm would leave out": {
      address: "/files/two",
      optional: true,
      asked: ["/npm/two", "/files/two"],
    },
  }))
    it(`asks a registry ${what}`, async () => {
      mkdirSync(path("two"));
      write("two/package.json", { name: "two", version: "1.0.0" });
      execFileSync("npm", ["pack", "./two"], { cwd: root, stdio: "ignore" });
      const file = readFileSync(path("two-1.0.0.tgz"));
      const integrity = `sha512-${createHash("sha512").update(file).digest("base64")}`;
      const requests: string[] = [];
      const server = createServer(({ url = "" }, response) => {
        requests.push(url);
        const dist = { integrity, tarball: `${host}${address}` };
        const two = { name: "two", versions: { "1.0.0": { name: "two", version: "1.0.0", dist } } };
        if (url === address) response.end(file);
        else if (url === "/npm/two") response.end(JSON.stringify(two));
        else response.writeHead(404).end("{}");
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const project = {
        ...PACKAGE,
        dependencies: {},
        [optional ? "optionalDependencies" : "dependencies"]: { two: "1.0.0" },
      };
      write("package.json", project);
      write("package-lock.json", {
        ...LOCK,
        packages: { "": project, "node_modules/two": { version: "1.0.0", integrity, ...(optional && { optional }) } },
      });
      // Also as a user's npm that tells more than was asked.
      const env = {
        npm_config_registry: `${host}/npm`,
        npm_config_cache: path("cache"),
        npm_config_audit: "false",
        npm_config_loglevel: "verbose",
      };
      expect(await setUp([], env)).toMatchObject({ code: 0 });
      server.close();
      expect(existsSync(path("node_modules/two/package.json"))).toBe(true);
      expect(requests).toEqual(asked);
      expect(existsSync(path("npm-shrinkwrap.json"))).toBe(false);
    });

  it("does not take for complete what npm installed by the file that a killed install left", async () => {
    mkdirSync(path("node_modules"));
    write("npm-shrinkwrap.json", LOCK);
    await setUp(["--installed"]);
    expect(existsSync(path("npm-shrinkwrap.json"))).toBe(false);
    expect((await setUp()).output).toContain("Installed the packages in ");
  });

  it("begins again after an interrupted install, whose process holds the lock no more", async () => {
    mkdirSync(path("node_modules/half"), { recursive: true });
    mkdirSync(path(".data"));
    const ended = spawn(process.execPath, ["-e", ""]);
    await new Promise((resolve) => ended.once("close", resolve));
    writeFileSync(path(".data/install.lock"), `${ended.pid}`);
    expect(await setUp()).toMatchObject({ code: 0 });
    expect(existsSync(path("node_modules/half"))).toBe(false);
    expect(existsSync(path(".data/install.lock"))).toBe(false);
  });

  it("ends the npm that a killed install left", async () => {
    const bin = path("bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "npm"), `#!/usr/bin/env node\nconsole.log(process.pid); setInterval(() => {}, 1_000);`, {
      mode: 0o755,
    });
    const killed = spawn(process.execPath, [path("scripts/setup.mjs")], {
      env: { ...plainEnv(), PATH: `${bin}:${process.env["PATH"]}` },
      stdio: "ignore",
    });
    const lock = (): string =>
      existsSync(path(".data/install.lock")) ? readFileSync(path(".data/install.lock"), "utf8") : "";
    await expect.poll(lock, { timeout: 60_000 }).toMatch(/ \d+$/);
    const npm = Number(lock().split(" ")[1]);
    killed.kill("SIGKILL");
    await new Promise((resolve) => killed.once("close", resolve));
    expect(isRunning(npm)).toBe(true);
    expect(await setUp()).toMatchObject({ code: 0 });
    expect(isRunning(npm)).toBe(false);
  });

  it("waits for an install beside it, and does not repeat it", async () => {
    const both = await Promise.all([setUp(), setUp()]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(both.filter(({ output }) => output.includes("Installed the packages in "))).toHaveLength(1);
  });

  it("waits for a process that lives", async () => {
    mkdirSync(path(".data"));
    const lock = path(".data/install.lock");
    writeFileSync(lock, `${process.pid}`);
    const said = Promise.withResolvers<void>();
    const waiting = setUp([], {}, (output) => {
      if (output.includes("Waiting for another installation")) said.resolve();
    });
    await Promise.race([said.promise, waiting]);
    expect(readFileSync(lock, "utf8")).toBe(`${process.pid}`);
    rmSync(lock);
    expect(await waiting).toMatchObject({ code: 0, output: expect.stringContaining("Installed the packages in ") });
  });

  it("says what helps when npm fails", async () => {
    write("package.json", { ...PACKAGE, dependencies: { one: "file:one", two: "file:two" } });
    const { code, output } = await setUp();
    expect(code).toBe(1);
    expect(output).toContain("The packages could not be installed.");
    expect(output).toContain("What to do: package.json and package-lock.json disagree");
  });

  it("takes an install by hand for complete, without development packages only where those are not needed", async () => {
    mkdirSync(path("node_modules"));
    await setUp(["--installed"], { npm_config_omit: "dev" });
    expect(await setUp(["--production"])).toEqual({ code: 0, output: "" });
    expect((await setUp()).output).toContain("Installed the packages in ");
  });
});
