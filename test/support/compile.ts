/** Compiles one Solidity file of the tests with the project's compiler, without Hardhat: nothing of it belongs to a deployment. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Abi, Hex } from "viem";
import { ROOT } from "./processes.ts";

const require = createRequire(import.meta.url);

type Output = {
  errors?: { severity: string; formattedMessage: string }[];
  contracts?: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>;
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
