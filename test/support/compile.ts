/** Compiles one Solidity file of the tests with the project's compiler, without Hardhat: nothing of it belongs to a deployment. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Abi, Hex } from "viem";
import { ROOT } from "./processes.ts";

const require = createRequire(import.meta.url);

type Output = {
  errors?: { severity: string; formattedMessage: string }[];
  contracts?: Record<
    string,
    Record<string, { abi: Abi; evm: { bytecode: { object: string } }; storageLayout?: StorageLayout }>
  >;
};

/** ABI and creation code of the contract `name` in `file` (a path from the project's root). */
export function compileContract(file: string, name: string): { abi: Abi; bytecode: Hex } {
  const input = {
    language: "Solidity",
    sources: { [file]: { content: readFileSync(join(ROOT, file), "utf8") } },
    settings: {
      viaIR: true,
      evmVersion: "cancun",
      optimizer: { enabled: true, runs: 1 },
      outputSelection: { [file]: { [name]: ["abi", "evm.bytecode.object"] } },
    },
  };
  const compiled = compile(input).contracts?.[file]?.[name];
  if (compiled === undefined) throw new Error(`${file} has no ${name}`);
  return { abi: compiled.abi, bytecode: `0x${compiled.evm.bytecode.object}` };
}

export type StorageLayout = {
  storage: { slot: string; offset: number; label: string; type: string }[];
  types: Record<string, { label: string; members?: { slot: string; offset: number; label: string; type: string }[] }>;
};

/** Where the compiler puts the state of each contract; `files` names their sources. */
export function storageLayouts(files: Record<string, string>): Record<string, StorageLayout> {
  const sources = Object.fromEntries(
    Object.values(files).map((file) => [file, { content: readFileSync(join(ROOT, file), "utf8") }]),
  );
  const settings = { viaIR: true, evmVersion: "cancun", outputSelection: { "*": { "*": ["storageLayout"] } } };
  const output = compile({ language: "Solidity", sources, settings });
  return Object.fromEntries(
    Object.entries(files).map(([name, file]) => {
      const layout = output.contracts?.[file]?.[name]?.storageLayout;
      if (layout === undefined) throw new Error(`${file} has no ${name}`);
      return [name, layout];
    }),
  );
}

function compile(input: object): Output {
  const solc = require("solc") as { compile: (input: string, callbacks: object) => string };
  const read = (path: string) => {
    const found = path.startsWith("@") ? join(ROOT, "node_modules", path) : join(ROOT, path);
    return { contents: readFileSync(found, "utf8") };
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: read })) as Output;
  const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  return output;
}
