/**
 * `npm run --silent sbom > sbom.json`: the bill of materials (CycloneDX 1.6) of what runs in production, by package-lock.json: what
 * `npm ci --omit=dev` installs, and the packages that the bundle of the web application is made of.
 */
import { found, type Lock, readLock } from "./complete-lock.ts";

type Entry = Lock["packages"][string] & { integrity?: string; license?: string; devOptional?: boolean };
/** A package by its name, and by its place in the lock file. */
type Shipped = Entry & { name: string; place: string; browser: boolean };

/** What `web/` imports of packages that production does not install. React's part is Preact's (`web/react.mjs`). */
const BROWSER = ["@tanstack/react-query", "preact", "react-router", "redoc", "wagmi"];
/** An expression of SPDX; else it is a name that somebody gave. */
const IS_SPDX = /^(MIT|ISC|0BSD)$|-\d/;
/** Types and peers that no bundle has. */
const NO_CODE = /^(@types\/.*|react|react-dom|typescript|core-js)$/;

/** The packages of production, each once. */
export function shippedPackages({ packages }: Lock = readLock()): Shipped[] {
  const entries = Object.entries(packages as Record<string, Entry>);
  const server = entries.filter(([place, { dev, link }]) => place.includes("node_modules/") && !dev && !link);
  const places = new Map(server.map(([place]) => [place, false]));
  const add = (from: string, name: string): void => {
    const place = found(packages, from, name);
    if (place === null || places.has(place) || NO_CODE.test(name)) return;
    places.set(place, true);
    for (const dependency of Object.keys(packages[place]?.dependencies ?? {})) add(place, dependency);
  };
  for (const name of BROWSER) add("", name);
  return [...places].map(([place, browser]) => {
    const name = place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
    return { ...(packages[place] as Entry), name, place, browser };
  });
}

function component({ name, version = "", license, integrity, optional, browser }: Shipped) {
  const [algorithm, digest = ""] = integrity?.split("-") ?? [];
  const sha512 = algorithm === "sha512" ? Buffer.from(digest, "base64").toString("hex") : null;
  return {
    type: "library",
    name,
    version,
    scope: optional ? "optional" : "required",
    ...(sha512 !== null && { hashes: [{ alg: "SHA-512", content: sha512 }] }),
    ...(license !== undefined && {
      licenses: [IS_SPDX.test(license) ? { expression: license } : { license: { name: license } }],
    }),
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    properties: [{ name: "part", value: browser ? "browser" : "server" }],
  };
}

if (import.meta.main) {
  const { "": root } = readLock().packages as Record<string, Entry & { name?: string }>;
  const components = [
    ...new Map(shippedPackages().map((one) => [`${one.name}@${one.version}`, component(one)])).values(),
  ];
  const metadata = { component: { type: "application", name: root?.name, version: root?.version } };
  console.log(
    JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", version: 1, metadata, components }, null, 2),
  );
}
