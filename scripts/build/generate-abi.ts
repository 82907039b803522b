/**
 * Writes protocol/generated/abi.ts from the compiled artifacts, so that no ABI is ever typed by hand.
 * `--check` writes nothing and fails when the committed file differs (run by `npm test`).
 */
import { readFileSync, writeFileSync } from "node:fs";

const CONTRACTS = {
  inferenceEscrow: "contracts/InferenceEscrow",
  modelCatalog: "contracts/ModelCatalog",
  workerRegistry: "contracts/WorkerRegistry",
  protocolTreasury: "contracts/ProtocolTreasury",
  arbitrationPanel: "contracts/ArbitrationPanel",
  protocolGovernor: "contracts/ProtocolGovernor",
  protocolTimelock: "contracts/ProtocolTimelock",
  serviceToken: "contracts/ServiceToken",
  testStablecoin: "test/contracts/tokens/TestStablecoin",
};

const root = new URL("../../", import.meta.url);
const target = new URL("protocol/generated/abi.ts", root);

function abiOf(path: string): unknown {
  const name = path.split("/").at(-1);
  const file = new URL(`artifacts/${path}.sol/${name}.json`, root);
  return JSON.parse(readFileSync(file, "utf8")).abi;
}

const parts = Object.entries(CONTRACTS).map(
  ([name, path]) => `export const ${name}Abi = ${JSON.stringify(abiOf(path), null, 1)} as const;\n`,
);
const text = `// Generated from the compiled contracts by scripts/build/generate-abi.ts. Do not edit.\n\n${parts.join("\n")}`;

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== text) {
    console.error("protocol/generated/abi.ts does not match the contracts: run `npm run compile` and commit it.");
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
