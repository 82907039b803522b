/** Contracts that the tests of other folders deploy: compiled here, each by itself, so that those tests compile nothing. */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Abi } from "viem";

/** By name, with the name of the file that defines it. */
export const TEST_CONTRACTS = {
  ContractWallet: "ContractWallet.sol",
  DishonestEscrow: "DishonestEscrow.sol",
  PermitlessStablecoin: "OddTokens.sol",
};

const SETTINGS = { viaIR: true, evmVersion: "cancun", optimizer: { enabled: true, runs: 1 } };
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const require = createRequire(import.meta.url);

const { version } = require("solc/package.json") as { version: string };

type Solc = { compile: (input: string, callbacks: { import: (path: string) => { contents: string } }) => string };
type Output = {
  errors?: { severity: string; formattedMessage: string }[];
  contracts?: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>;
};

/** Texts of their files by path from the project's root. */
export function testContractFiles(): Map<string, string> {
  return new Map(
    Object.entries(TEST_CONTRACTS).map(([name, file]) => [`test/support/contracts/${name}.json`, compiled(name, file)]),
  );
}

/** The hash of what the compiler is given: while it is the one in a contract's file, compiling would write the same file. */
export function inputHash(sources: readonly string[]): string {
  const hash = createHash("sha256").update(JSON.stringify([SETTINGS, version]));
  for (const path of sources) hash.update(path).update(readFileSync(join(ROOT, path)));
  return hash.digest("hex");
}

function compiled(name: string, fileName: string): string {
  const [path, ...others] = globSync(`{contracts,test}/**/${fileName}`, { cwd: ROOT });
  if (path === undefined || others.length > 0) throw new Error(`there must be one ${fileName} in contracts/ and test/`);
  const sources = [path];
  const input = {
    language: "Solidity",
    sources: { [path]: { content: readFileSync(join(ROOT, path), "utf8") } },
    settings: { ...SETTINGS, outputSelection: { [path]: { [name]: ["abi", "evm.bytecode.object"] } } },
  };
  const read = (file: string) => {
    const imported = file.startsWith("@") ? join("node_modules", file) : file;
    sources.push(imported);
    return { contents: readFileSync(join(ROOT, imported), "utf8") };
  };
  const output = JSON.parse((require("solc") as Solc).compile(JSON.stringify(input), { import: read })) as Output;
  const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  const contract = output.contracts?.[path]?.[name];
  if (contract === undefined) throw new Error(`${path} has no ${name}`);
  const { abi, evm } = contract;
  const bytecode = `0x${evm.bytecode.object}`;
  const file = { contractName: name, sourceName: path, sources, inputHash: inputHash(sources), abi, bytecode };
  return `${JSON.stringify(file, null, 2)}\n`;
}
