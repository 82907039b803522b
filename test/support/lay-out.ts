/** Packages of the repository's node_modules in another folder, as npm would put them there. */
import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../shared/process.ts";
import { ROOT } from "./processes.ts";

type Entry = { dev?: boolean; link?: boolean } & Partial<Record<"dependencies" | "optionalDependencies", object>>;

const readLock = (): Record<string, Entry> =>
  JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")).packages;

/** Where the packages of production lie; our own are no such packages. */
export function productionPlaces(): string[] {
  const places = Object.entries(readLock()).filter(([place, { dev, link }]) => isInstalled(place) && !dev && !link);
  return places.map(([place]) => place);
}

/** Where the packages lie that those of these workspaces need, and what these need. */
export function placesOf(workspaces: readonly string[]): string[] {
  const lock = readLock();
  const found = new Set<string>();
  const need = (from: string): void => {
    const { dependencies, optionalDependencies } = lock[from] as Entry;
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const above = from.split("/node_modules/").map((_, i, parts) => parts.slice(0, i + 1).join("/node_modules/"));
      const places = [...above.map((folder) => `${folder}/node_modules/${name}`).reverse(), `node_modules/${name}`];
      const place = places.find((one) => one in lock && isInstalled(one));
      if (place === undefined || found.has(place)) continue;
      found.add(place);
      need(place);
    }
  };
  workspaces.forEach(need);
  return [...found];
}

const isInstalled = (place: string): boolean => place.startsWith("node_modules/") && existsSync(join(ROOT, place));

/** Puts packages into a folder as hard links, or as copies on another file system: npm would take a minute for the same files. */
export function layOut(places: readonly string[], folder: string): void {
  for (const place of places) put(join(ROOT, place), join(folder, place));
}

function put(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    // Packages below this one have entries of their own.
    if (entry.name === "node_modules") continue;
    if (entry.isDirectory()) put(source, target);
    else if (entry.isFile()) linkOrCopy(source, target);
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    copyFileSync(source, target);
  }
}
