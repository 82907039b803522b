/**
 * Adds to package-lock.json the packages for other platforms that npm left out because its registry does not have them: `npm ci` refuses a
 * lock file without them. An entry has no hash and no address, so npm fetches it by its name and version. Run this after every `npm install`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const LOCK_FILE = fileURLToPath(new URL("../../package-lock.json", import.meta.url));

type Entry = {
  version?: string;
  resolved?: string;
  /** To a package of ours; `resolved` is its folder. */
  link?: boolean;
  optional?: boolean;
  dev?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
};
export type Lock = { packages: Record<string, Entry> };

const SYSTEMS = ["android", "darwin", "freebsd", "linux", "openbsd", "openharmony", "win32"];
const PROCESSORS: [RegExp, string][] = [
  [/arm64/, "arm64"],
  [/arm/, "arm"],
  [/x64|amd64/, "x64"],
  [/ia32/, "ia32"],
  [/loong64/, "loong64"],
  [/ppc64/, "ppc64"],
  [/riscv64/, "riscv64"],
  [/s390x/, "s390x"],
];

export const readLock = (): Lock => JSON.parse(readFileSync(LOCK_FILE, "utf8")) as Lock;

/** Packages that another one names and the lock file does not have, by the place that npm gives them. */
export function missingFrom({ packages }: Lock): Map<string, Entry> {
  const missing = new Map<string, Entry>();
  for (const [place, { dev, dependencies, optionalDependencies }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries({ ...dependencies, ...optionalDependencies })) {
      if (found(packages, place, name) !== null) continue;
      if (optionalDependencies?.[name] === undefined) throw new Error(`${place} needs ${name}, which no entry has`);
      // Beside the package that wants it, or at the top: other versions of such a package are not there.
      missing.set(`node_modules/${name}`, { version, ...(dev ? { dev } : {}), optional: true, ...platformOf(name) });
    }
  }
  return missing;
}

/** Place of a package, looked for as Node does: in the folder of the one that wants it, and in those above. Null where it is missing. */
export function found(packages: Lock["packages"], place: string, name: string): string | null {
  for (let folder = place; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const here = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (packages[here]) return here;
    if (folder === "") return null;
  }
}

/** What its name says of the platform. Packages that are not for one platform must be in the registry. */
function platformOf(name: string): Pick<Entry, "os" | "cpu" | "libc"> {
  const os = SYSTEMS.find((system) => name.includes(`-${system}`));
  const cpu = PROCESSORS.find(([pattern]) => pattern.test(name))?.[1];
  if (os === undefined || cpu === undefined) throw new Error(`the name ${name} does not say its platform`);
  const libc = name.includes("musl") ? "musl" : name.includes("-gnu") ? "glibc" : undefined;
  return { os: [os], cpu: [cpu], ...(libc ? { libc: [libc] } : {}) };
}

if (import.meta.main) {
  const lock = readLock();
  const missing = missingFrom(lock);
  const { "": root, ...rest } = { ...lock.packages, ...Object.fromEntries(missing) };
  const sorted = Object.entries(rest).sort(([a], [b]) => a.localeCompare(b, "en"));
  writeFileSync(
    LOCK_FILE,
    `${JSON.stringify({ ...lock, packages: { "": root, ...Object.fromEntries(sorted) } }, null, 2)}\n`,
  );
  console.log(`Added ${missing.size} packages of other platforms to package-lock.json.`);
}
