/** Contracts that the tests of other folders deploy: compiled here, each by itself, so that those tests compile nothing. */
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

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const require = createRequire(import.meta.url);

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

function compiled(name: string, fileName: string): string {
  const [path, ...others] = globSync(`{contracts,test}/**/${fileName}`, { cwd: ROOT });
  if (path === undefined || others.length > 0) throw new Error(`there must be one ${fileName} in contracts/ and test/`);
  const input = {
    language: "Solidity",
    sources: { [path]: { content: readFileSync(join(ROOT, path), "utf8") } },
    settings: {
      viaIR: true,
      evmVersion: "cancun",
      optimizer: { enabled: true, runs: 1 },
      outputSelection: { [path]: { [name]: ["abi", "evm.bytecode.object"] } },
    },
  };
  const read = (file: string) => ({ contents: readFileSync(join(ROOT, importedFrom(file)), "utf8") });
  const output = JSON.parse((require("solc") as Solc).compile(JSON.stringify(input), { import: read })) as Output;
  const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  const contract = output.contracts?.[path]?.[name];
  if (contract === undefined) throw new Error(`${path} has no ${name}`);
  const { abi, evm } = contract;
  return `${JSON.stringify({ contractName: name, sourceName: path, abi, bytecode: `0x${evm.bytecode.object}` }, null, 2)}\n`;
}

const importedFrom = (file: string): string => (file.startsWith("@") ? join("node_modules", file) : file);
