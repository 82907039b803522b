/** A package as a stranger gets it: packed, then installed from its tarball in an empty folder. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { type Packed, pack } from "../../../scripts/build/pack.ts";
import { readJson, writeJson } from "../../../scripts/dev/files.ts";
import { withLock } from "../../../shared/process.ts";
import { ROOT, temporaryFolder } from "../../support/processes.ts";
import { plainEnv, runFolder } from "../../support/shared.ts";

export type Installed = Awaited<ReturnType<typeof install>>;

/** The tarball of a workspace; the first file of a run that asks packs it. */
export async function packOnce(folder: string): Promise<Packed> {
  const out = join(runFolder(), `packed-${folder}`);
  const known = `${out}.json`;
  return await withLock(`${out}.lock`, async () => {
    if (readJson(known) === null) writeJson(known, await pack(folder, out));
    return readJson<Packed>(known) as Packed;
  });
}

/** Installs the tarball of a workspace. `remove` deletes the folder. */
export async function install(folder: string) {
  const place = temporaryFolder();
  const packed = await packOnce(folder);
  const empty = join(place.path, "empty");
  mkdirSync(empty);
  // Without this file npm would look for one in the folders above.
  writeFileSync(join(empty, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const options = { cwd: empty, env: plainEnv(), extendEnv: false };
  await execa("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", packed.file], options);
  const at = join(empty, "node_modules", packed.name);
  const manifest = JSON.parse(readFileSync(join(at, "package.json"), "utf8")) as { bin?: Record<string, string> };
  return {
    ...packed,
    /** The folder that was empty, and the package in it. */
    folder: empty,
    at,
    /** Runs its command, as npx does; returns exit code and output. */
    command: async (...args: string[]): Promise<{ code: number | undefined; stdout: string; stderr: string }> => {
      const [name = ""] = Object.keys(manifest.bin ?? {});
      const file = join(empty, "node_modules", ".bin", name);
      const { exitCode: code, stdout, stderr } = await execa(file, args, { ...options, reject: false });
      return { code, stdout, stderr };
    },
    /** Runs a module of this folder, and returns what it prints. */
    run: async (code: string): Promise<string> => {
      writeFileSync(join(empty, "program.js"), code);
      return (await execa(process.execPath, ["program.js"], options)).stdout;
    },
    /** Checks the types of a module, and of the README's examples, as strict projects for Node and for a bundler do; returns what the compiler says. */
    check: async (code: string): Promise<string> => {
      const examples = readFileSync(join(at, "README.md"), "utf8").matchAll(/```ts\n(.*?)```/gs);
      const files = [code, ...[...examples].map(([, example = ""]) => example)].map((text, i) => {
        writeFileSync(join(empty, `program${i}.ts`), text);
        return `program${i}.ts`;
      });
      const types = ["node"];
      const typeRoots = [join(ROOT, "node_modules", "@types")];
      const compilerOptions = { strict: true, target: "es2024", noEmit: true, types, typeRoots };
      writeFileSync(join(empty, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
      const compiler = { ...options, preferLocal: true, localDir: ROOT, reject: false };
      const kinds = ["--module nodenext", "--module esnext --moduleResolution bundler"];
      const runs = kinds.map((kind) => execa("tsc", ["-p", empty, "--checkers", "1", ...kind.split(" ")], compiler));
      return (await Promise.all(runs)).map(({ stdout }) => stdout).join("");
    },
    remove: () => place.remove(),
  };
}
