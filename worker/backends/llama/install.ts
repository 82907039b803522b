import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "../../errors.ts";
import { LLAMA_FOLDER, LLAMA_VERSION } from "./library.ts";

/** Packages with binaries by platform. All of them together are 700 MB, so only what is asked for is installed. */
const CPU: Record<string, string> = {
  "linux-x64": "linux-x64",
  "linux-arm64": "linux-arm64",
  "darwin-arm64": "mac-arm64-metal",
  "darwin-x64": "mac-x64",
  "win32-x64": "win-x64",
  "win32-arm64": "win-arm64",
};
const GPU: Record<string, string[]> = {
  "linux-x64 cuda": ["linux-x64-cuda", "linux-x64-cuda-ext"],
  "linux-x64 vulkan": ["linux-x64-vulkan"],
  "win32-x64 cuda": ["win-x64-cuda", "win-x64-cuda-ext"],
  "win32-x64 vulkan": ["win-x64-vulkan"],
};

/**
 * Installs node-llama-cpp with the binaries of this machine into a folder of its own. `gpu`: "cuda", "vulkan" or null. Nothing is compiled and no
 * script of a package runs.
 */
export async function installLlama(gpu: string | null): Promise<void> {
  const platform = `${process.platform}-${process.arch}`;
  const cpu = CPU[platform];
  if (cpu === undefined)
    throw new ConfigError(`node-llama-cpp has no binaries for ${platform}; use an OpenAI-compatible server`);
  const accelerated = gpu === null ? [] : GPU[`${platform} ${gpu}`];
  if (accelerated === undefined) {
    throw new ConfigError(`there are no ${gpu} binaries for ${platform}; Apple's GPUs are used without --gpu`);
  }
  await mkdir(LLAMA_FOLDER, { recursive: true });
  await writeFile(join(LLAMA_FOLDER, "package.json"), '{ "name": "worker-engine", "private": true }\n');
  const binaries = [cpu, ...accelerated].map((name) => `@node-llama-cpp/${name}@${LLAMA_VERSION}`);
  const options = [
    "--omit=optional",
    "--omit=peer",
    "--legacy-peer-deps",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
  ];
  const npm = spawn("npm", ["install", ...options, `node-llama-cpp@${LLAMA_VERSION}`, ...binaries], {
    cwd: LLAMA_FOLDER,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  const [code] = await once(npm, "exit");
  if (code !== 0)
    throw new ConfigError(`npm could not install node-llama-cpp (exit code ${code}); its message is above`);
}
