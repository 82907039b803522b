/** What `npm start` and `npm test` do first: scripts/install.mjs, in a project whose one package npm installs without a registry. */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { plainEnv } from "../support/stack.ts";
import { ROOT } from "./support/programs.ts";

const PROJECT = { name: "project", version: "1.0.0", dependencies: { one: "file:one" } };
const LOCK = {
  ...PROJECT,
  lockfileVersion: 3,
  packages: { "": PROJECT, "node_modules/one": { resolved: "one", link: true }, one: { version: "1.0.0" } },
};

describe("scripts/install.mjs", () => {
  let root = "";
  const path = (file: string): string => join(root, file);
  const write = (file: string, value: object): void => writeFileSync(path(file), JSON.stringify(value));
  const install = () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [path("scripts/install.mjs")], {
      env: plainEnv(),
      encoding: "utf8",
    });
    return { status, stdout, stderr };
  };
  const later = new Date(Date.now() + 24 * 3_600_000);

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "install-"));
    for (const folder of ["scripts", "one", "patches"]) mkdirSync(path(folder));
    copyFileSync(join(ROOT, "scripts/install.mjs"), path("scripts/install.mjs"));
    write("one/package.json", { name: "one", version: "1.0.0" });
    write("package.json", PROJECT);
    write("package-lock.json", LOCK);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it("installs in a fresh clone, and then does nothing", () => {
    expect(install()).toMatchObject({ status: 0, stdout: expect.stringContaining("Installing the packages") });
    expect(existsSync(path("node_modules/one/package.json"))).toBe(true);
    expect(install()).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  it.each(["package-lock.json", "patches/one.patch"])("installs again after %s has changed", (file) => {
    write("patches/one.patch", {});
    install();
    expect(install().stdout).toBe("");
    utimesSync(path(file), later, later);
    expect(install().stdout).toContain("Installing the packages");
  });

  it("begins anew after an interrupted installation", () => {
    mkdirSync(path("node_modules/half"), { recursive: true });
    expect(install().status).toBe(0);
    expect(existsSync(path("node_modules/half"))).toBe(false);
  });

  it("ends with npm's message when npm fails", () => {
    write("package.json", { ...PROJECT, dependencies: { one: "file:one", two: "file:two" } });
    const { status, stderr } = install();
    expect(status).not.toBe(0);
    expect(stderr).toContain("package.json and package-lock.json");
  });
});
