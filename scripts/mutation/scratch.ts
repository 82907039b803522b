/** A copy of the project to break: the working tree is never touched. */
import { spawn } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const COPIED = [
  "contracts",
  "protocol",
  "scripts/build",
  "test/contracts",
  "package.json",
  "tsconfig.json",
  "hardhat.config.ts",
  "types",
];

/**
 * The optimizer does only what the code generator needs to fit the stack: a mutant compiles in half the time, and code
 * beyond the size limit may be deployed. Tests stop at the first failure, and the campaigns are shorter.
 */
const CONFIG = `import { defineConfig } from "hardhat/config";
import config from "./hardhat.config.ts";
const yulDetails = { stackAllocation: true, optimizerSteps: "u:" };
export default defineConfig({
  ...config,
  // Only what depends on the mutant is compiled.
  plugins: config.plugins.filter(({ id }) => id !== "release"),
  solidity: { ...config.solidity, settings: { viaIR: true, evmVersion: "cancun",
    optimizer: { enabled: true, runs: 1, details: { yul: true, yulDetails } } } },
  networks: { default: { ...config.networks.default, allowUnlimitedContractSize: true } },
  test: { mocha: { timeout: 60_000, bail: true },
    solidity: { ...config.test.solidity, invariant: { runs: 24, depth: 128, failOnRevert: true } } },
});
`;

export type Run = { code: number | null; output: string; overTime: boolean };

export class Scratch {
  readonly folder = mkdtempSync(join(tmpdir(), "mutation-"));

  constructor() {
    for (const path of COPIED) {
      if (!existsSync(join(ROOT, path))) continue;
      mkdirSync(dirname(join(this.folder, path)), { recursive: true });
      cpSync(join(ROOT, path), join(this.folder, path), { recursive: true });
    }
    symlinkSync(join(ROOT, "node_modules"), join(this.folder, "node_modules"));
    writeFileSync(join(this.folder, "mutation.config.ts"), CONFIG);
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.folder, file), text);
  }

  tests(folders: string[]): string[] {
    const files = folders.flatMap((folder) => globSync(`test/contracts/${folder}/*.test.ts`, { cwd: this.folder }));
    // Gas is another with this optimizer.
    return files.filter((file) => !/gas/.test(file));
  }

  /** Runs Hardhat and kills it, with all it started, when its time is up. */
  async hardhat(args: string[], seconds: number): Promise<Run> {
    const hardhat = join(ROOT, "node_modules/hardhat/dist/src/cli.js");
    const child = spawn(process.execPath, [hardhat, "--config", "mutation.config.ts", ...args], {
      cwd: this.folder,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let overTime = false;
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString("utf8");
      });
    const timer = setTimeout(() => {
      overTime = true;
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    }, seconds * 1_000);
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    clearTimeout(timer);
    return { code, output, overTime };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
