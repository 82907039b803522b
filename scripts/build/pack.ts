/**
 * `node scripts/build/pack.ts [folder...]`: packs the workspaces of package.json, or those named, into `packages/*.tgz` in DATA_DIR
 * (`.data`).
 *
 * In the repository the exports and commands of a package are TypeScript sources, which every part imports by their paths. In its tarball they
 * are bundles: JavaScript with the sources that it imports from other folders, and types beside it. What stays outside is a dependency, in the
 * version of the root package. An exported `.html` becomes one file that needs no server.
 */
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { execa } from "execa";
import { build, type OutputChunk } from "rolldown";
import { dataDirOf } from "../../shared/stack-file.ts";
import { messageOf, ROOT } from "../dev/files.ts";

type Manifest = {
  name: string;
  version: string;
  workspaces?: string[];
  /** Sources and files as they stand. */
  exports: Record<string, string>;
  engines: { node: string };
  bin?: Record<string, string>;
  files?: string[];
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
};
export type Packed = { name: string; file: string; size: number; unpackedSize: number };

const readManifest = (folder: string) =>
  JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8")) as Manifest;
const isSource = (path: string) => path.endsWith(".ts");
const nameOf = (path: string) => basename(path).replace(/\.\w+$/, "");

export const packages = (): string[] => readManifest("").workspaces ?? [];

/** Packs one package. `out`: folder of the tarball, and of what is in it. */
export async function pack(folder: string, out: string): Promise<Packed> {
  const manifest = readManifest(folder);
  const stage = resolve(out, folder);
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  const { exports, bin = {}, files = [], ...rest } = manifest;

  const sources = [...Object.values(exports), ...Object.values(bin)].filter(isSource);
  await bundle(folder, manifest, { sources, dist: join(stage, "dist") });
  const typed = Object.values(exports).filter(isSource);
  if (typed.length > 0) await writeTypes(folder, typed, join(stage, "dist"));
  for (const page of Object.values(exports).filter((path) => path.endsWith(".html"))) {
    writeFileSync(join(stage, "dist", `${nameOf(page)}.html`), await singleFile(join(ROOT, folder, page)));
  }

  cpSync(join(ROOT, "LICENSE"), join(stage, "LICENSE"));
  for (const file of globSync(["README.md", ...files], { cwd: join(ROOT, folder) })) {
    cpSync(join(ROOT, folder, file), join(stage, file), { recursive: true });
  }
  const versions = { own: oldestNode(manifest), needed: neededNode(manifest) };
  const bringsNode = versions.needed > versions.own;
  for (const [name, path] of Object.entries(bin))
    writeFileSync(join(stage, "dist", `${name}.js`), launcher(name, nameOf(path), versions));
  const script = (path: string) => (isSource(path) ? `./dist/${nameOf(path)}.js` : path);
  const entry = (path: string) => {
    if (path.endsWith(".html")) return `./dist/${nameOf(path)}.html`;
    if (!isSource(path)) return path;
    return { types: `./dist/types/${folder}/${nameOf(path)}.d.ts`, default: script(path) };
  };
  const published = {
    ...rest,
    ...(bringsNode && { optionalDependencies: readManifest("").optionalDependencies }),
    exports: Object.fromEntries(Object.entries(exports).map(([name, path]) => [name, entry(path)])),
    bin: Object.fromEntries(Object.keys(bin).map((name) => [name, `./dist/${name}.js`])),
  };
  writeFileSync(join(stage, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
  // Whatever this machine's umask is, everybody may read what is installed.
  for (const entry of globSync("**/*", { cwd: stage, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  const { stdout } = await execa("npm", ["pack", "--json", "--pack-destination", resolve(out)], { cwd: stage });
  const [{ filename, size, unpackedSize }] = JSON.parse(stdout);
  return { name: manifest.name, file: join(resolve(out), filename), size, unpackedSize };
}

type Bundled = { sources: string[]; dist: string };

/** The first major version of Node that runs the package. */
const oldestNode = ({ engines }: Manifest): number => Number(/^>=(\d+)$/.exec(engines.node)?.[1]);

/** The first major version of Node that all dependencies run on, as they declare it. */
function neededNode({ dependencies = {} }: Manifest): number {
  const oldest = Object.keys(dependencies).map((name) => {
    const { engines } = readManifest(join("node_modules", name)) as Partial<Manifest>;
    const majors = [...(engines?.node ?? "").matchAll(/(?:>=|\^)\s*(\d+)(?:\.(\d+))?/g)];
    // If a range begins within a major version, such as 22.19, the next major version is the first that is whole.
    return Math.min(...majors.map(([, major, minor]) => Number(major) + (Number(minor ?? 0) > 0 ? 1 : 0)));
  });
  return Math.max(0, ...oldest.filter(Number.isFinite));
}

/**
 * The code with which a command of the package starts. npm installs the package under any Node, and one that is too old would fail with a
 * stack trace. Where the dependencies need a newer Node than the package asks for, the package brings one, as the repository does for `npm
 * start`. npx passes a signal on to its shell only: when that is gone, the command ends as if the signal had been its own.
 */
const launcher = (
  name: string,
  script: string,
  { own, needed }: { own: number; needed: number },
): string => `#!/usr/bin/env node
const major = Number.parseInt(process.versions.node, 10);
if (major < ${own}) {
  console.error(\`${name} needs Node ${own} or newer; this is \${process.version}.\`);
  process.exit(2);
}
let end = () => process.kill(process.pid, "SIGTERM");
const parent = process.ppid;
if (process.env.npm_command === "exec" && parent > 1) {
  const looks = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(looks);
    end();
  }, 500).unref();
}
${needed > own ? withOwnNode(name, script, needed) : `await import("./${script}.js");`}
`;

/** Runs the script under the Node that the package brings, where this one is too old for its dependencies. */
const withOwnNode = (
  name: string,
  script: string,
  needed: number,
): string => `if (major >= ${needed}) await import("./${script}.js");
else {
  const { spawn } = await import("node:child_process");
  const { createRequire } = await import("node:module");
  const { fileURLToPath } = await import("node:url");
  const { resolve } = createRequire(import.meta.url);
  const find = (prefix) => {
    try {
      return resolve(\`\${prefix}-\${process.platform}-\${process.arch}/bin/node\`);
    } catch {
      return null;
    }
  };
  const node = find("node") ?? find("node-bin");
  if (node === null) {
    console.error(\`${name} needs Node ${needed} or newer on \${process.platform} \${process.arch}; this is \${process.version}.\`);
    process.exit(2);
  }
  const file = fileURLToPath(new URL("./${script}.js", import.meta.url));
  const child = spawn(node, [file, ...process.argv.slice(2)], { stdio: "inherit" });
  end = () => child.kill("SIGTERM");
  // A terminal sends Ctrl-C to both.
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? (signal === null ? 1 : 143);
  });
}`;

/** Writes a script for each source, and shared chunks. Throws when it imports a package that the manifest does not name. */
async function bundle(folder: string, manifest: Manifest, { sources, dist }: Bundled): Promise<void> {
  const { name } = manifest;
  const dependencies = { ...manifest.dependencies, ...manifest.optionalDependencies };
  const root = readManifest("") as Required<Manifest>;
  for (const [dependency, version] of Object.entries(dependencies)) {
    if (root.dependencies[dependency] === version) continue;
    throw new Error(
      `${name} depends on ${dependency} ${version}, the root package on ${root.dependencies[dependency]}`,
    );
  }
  const exported = new Set(Object.values(manifest.exports).map((path): string | null => join(ROOT, folder, path)));
  const { output } = await build({
    // Comments of a bundle name its sources from here, and names of chunks are hashes of them.
    cwd: ROOT,
    input: Object.fromEntries(sources.map((source) => [nameOf(source), join(ROOT, folder, source)])),
    platform: "node",
    external: (id) => !/^[./]/.test(id),
    output: {
      dir: dist,
      format: "esm",
      chunkFileNames: "[name]-[hash].js",
      // A program that imports the package is told so at once, and not by a call that fails.
      banner: ({ facadeModuleId }) => (exported.has(facadeModuleId) ? demandNode(manifest) : ""),
    },
  });
  const chunks = output.filter((one): one is OutputChunk => one.type === "chunk");
  const own = new Set(chunks.map(({ fileName }) => fileName));
  for (const id of chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])) {
    const dependency = id.split("/", id.startsWith("@") ? 2 : 1).join("/");
    if (own.has(id) || isBuiltin(id) || dependencies[dependency] !== undefined) continue;
    throw new Error(`${name} imports ${id}, which is not among the dependencies of ${folder}/package.json`);
  }
}

/** A statement that throws under an older Node. A browser has none. */
const demandNode = (manifest: Manifest): string => {
  const { name } = manifest;
  const node = oldestNode(manifest);
  return `if (Number.parseInt(globalThis.process?.versions?.node, 10) < ${node}) throw new Error("${name} needs Node ${node} or newer; this is " + process.version);`;
};

/** Writes the types of the sources and of all that they import, in the folders in which the sources are. */
async function writeTypes(folder: string, sources: readonly string[], dist: string): Promise<void> {
  const config = join(dist, "tsconfig.json");
  const compilerOptions = {
    noEmit: false,
    incremental: false,
    declaration: true,
    emitDeclarationOnly: true,
    rewriteRelativeImportExtensions: true,
    rootDir: ROOT,
    outDir: join(dist, "types"),
    typeRoots: [join(ROOT, "node_modules", "@types")],
  };
  const files = sources.map((source) => join(ROOT, folder, source));
  writeFileSync(config, JSON.stringify({ extends: join(ROOT, "tsconfig.base.json"), compilerOptions, files }));
  await execa("tsc", ["-p", config, "--checkers", "1"], { preferLocal: true, localDir: ROOT, cwd: ROOT, all: true });
  rmSync(config);
}

/** A page with its one script in it. */
async function singleFile(page: string): Promise<string> {
  const html = readFileSync(page, "utf8");
  const tag = /<script type="module" src="(.+?)"><\/script>/;
  const source = tag.exec(html)?.[1];
  if (source === undefined) throw new Error(`${page} has no <script type="module" src>`);
  const { output } = await build({
    cwd: ROOT,
    input: join(dirname(page), source),
    platform: "browser",
    write: false,
    output: { format: "esm", minify: true, codeSplitting: false },
  });
  // The text of a script ends at the first </script, wherever it stands.
  const code = output[0].code.replaceAll("</script", "<\\/script");
  return html.replace(tag, () => `<script type="module">${code}</script>`);
}

if (import.meta.main) {
  const out = join(dataDirOf(process.env), "packages");
  const asked = process.argv.slice(2);
  try {
    for (const folder of asked.length > 0 ? asked : packages()) {
      if (!existsSync(join(ROOT, folder, "package.json"))) throw new Error(`${folder} has no package.json`);
      const { name, file, size, unpackedSize } = await pack(folder, out);
      console.log(`${name}: ${file}, ${Math.ceil(size / 1000)} kB (${Math.ceil(unpackedSize / 1000)} kB unpacked)`);
    }
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = 1;
  }
}
