import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withLock } from "./file-lock.ts";
import { ROOT, readText } from "./files.ts";

/** The programs that turn `contracts/` into artifacts and the ABIs in `protocol/generated/`, in this order. */
const PROGRAMS = [["node_modules/hardhat/dist/src/cli.js", "compile"], ["scripts/build/generate-abi.ts"]];
const STAMP = join(ROOT, "artifacts", ".compiled-from");

/** Compiles unless the artifacts are those of the present sources. Returns what the progress line says. */
export async function compile(
  run: (args: string[]) => Promise<void>,
  { force = false, announce = () => {} }: { force?: boolean; announce?: () => void } = {},
): Promise<string> {
  return await withLock(join(ROOT, ".data", "compile.lock"), async () => {
    const sources = fingerprint();
    if (!force && readText(STAMP) === sources) return "contracts are compiled";
    announce();
    for (const program of PROGRAMS) await run(program);
    writeFileSync(STAMP, sources);
    return "contracts compiled";
  });
}

/** What the artifacts depend on: sources, settings, and the versions of compiler and libraries. */
function fingerprint(): string {
  const hash = createHash("sha256");
  const files = readdirSync(join(ROOT, "contracts"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".sol"))
    .sort()
    .map((file) => join("contracts", file));
  for (const file of [...files, "hardhat.config.ts", "scripts/build/generate-abi.ts"]) {
    hash.update(`${file}\0`).update(existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file)) : "");
  }
  for (const name of ["solc", "hardhat", "@openzeppelin/contracts"]) {
    const { version } = JSON.parse(readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8")) as {
      version: string;
    };
    hash.update(`${name}@${version}\0`);
  }
  return hash.digest("hex");
}
