/** The packages as a stranger gets them: packed, then installed from their tarballs in a folder that was empty, once in a run. */
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { execa } from "execa";
import { type Packed, pack, packages } from "../../../scripts/build/pack.ts";
import { readJson, writeJson } from "../../../scripts/dev/files.ts";
import { withLock } from "../../../shared/process.ts";
import { layOut, placesOf } from "../../support/lay-out.ts";
import { ROOT } from "../../support/processes.ts";
import { plainEnv, runFolder } from "../../support/shared.ts";

export type Installed = Awaited<ReturnType<typeof install>>;

/** What npm reads in the folder of an installed package. */
type Manifest = { bin?: Record<string, string>; dependencies?: Record<string, string> };

/** The tarball of a workspace; the first file of a run that asks packs it. */
export async function packOnce(folder: string): Promise<Packed> {
  const out = join(runFolder(), `packed-${folder}`);
  const known = `${out}.json`;
  return await withLock(`${out}.lock`, async () => {
    if (readJson(known) === null) writeJson(known, await pack(folder, out));
    return readJson<Packed>(known) as Packed;
  });
}

/** The folder in which all packages are installed; the first file of a run that asks installs them. */
export async function installOnce(): Promise<string> {
  const folder = join(runFolder(), "installed");
  const manifest = join(folder, "package.json");
  await withLock(`${folder}.lock`, async () => {
    if (readJson<{ dependencies?: object }>(manifest)?.dependencies !== undefined) return;
    const tarballs = await Promise.all(packages().map(async (workspace) => (await packOnce(workspace)).file));
    mkdirSync(folder, { recursive: true });
    // What npm finds in place it keeps, if it is what the packages ask for: it unpacks ours alone.
    layOut([...placesOf(packages()), ...pinnedNode()], folder);
    // Without this file npm would look for one in the folders above. It names the packages in it when they are there.
    writeJson(manifest, { private: true, type: "module" });
    const args = ["install", "--prefer-offline", "--no-audit", "--no-fund", ...tarballs];
    await execa("npm", args, { cwd: folder, env: plainEnv(), extendEnv: false });
  });
  return folder;
}

/** The Node of this platform that a package can bring. */
const pinnedNode = (): string[] =>
  globSync("node_modules/node-{,bin-}*-{x64,arm64}", { cwd: ROOT }).map((place) => place.replaceAll(sep, "/"));

/**
 * A module that makes a process of today's Node what Node 20 is: its version, and without what later ones added (`node --import`). The Node
 * that `node` in the PATH is may be older or newer.
 */
export const NODE_20 = `data:text/javascript,${encodeURIComponent(`
  for (const name of ["withResolvers", "try"]) delete Promise[name];
  for (const name of ["groupBy"]) { delete Map[name]; delete Object[name]; }
  for (const name of ["union", "intersection", "difference", "symmetricDifference", "isSubsetOf", "isSupersetOf", "isDisjointFrom"]) delete Set.prototype[name];
  for (const name of ["map", "filter", "take", "drop", "flatMap", "reduce", "toArray", "forEach", "some", "every", "find"]) delete Iterator.prototype[name];
  delete URL.parse; delete Array.fromAsync; delete RegExp.escape; delete globalThis.navigator; delete globalThis.WebSocket;
  Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.0.0" } });
`)}`;

/** The installed package of a workspace. */
export async function install(workspace: string) {
  const packed = await packOnce(workspace);
  const folder = await installOnce();
  const at = join(folder, "node_modules", packed.name);
  const manifest = JSON.parse(readFileSync(join(at, "package.json"), "utf8")) as Manifest;
  const options = { cwd: folder, env: plainEnv(), extendEnv: false };
  const command = async (args: string[], more: Record<string, string> = {}) => {
    const [name = ""] = Object.keys(manifest.bin ?? {});
    const file = join(folder, "node_modules", ".bin", name);
    const settings = { ...options, env: { ...options.env, ...more }, reject: false };
    const { exitCode: code, stdout, stderr } = await execa(file, args, settings);
    return { code, stdout, stderr };
  };
  return {
    ...packed,
    manifest,
    /** The folder that was empty, and the package in it. */
    folder,
    at,
    /** Runs its command, as npx does; returns exit code and output. */
    command: (...args: string[]) => command(args),
    /** The same under Node 20. */
    commandUnderNode20: (...args: string[]) => command(args, { NODE_OPTIONS: `--import ${NODE_20}` }),
    /** Runs a module of this folder, and returns what it prints. */
    run: async (code: string): Promise<string> => {
      const program = `program-${workspace}.js`;
      writeFileSync(join(folder, program), code);
      return (await execa(process.execPath, [program], options)).stdout;
    },
  };
}
