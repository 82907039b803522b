import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import toolbox from "@nomicfoundation/hardhat-toolbox-mocha-ethers";
import { defineConfig } from "hardhat/config";
import { oneTestJobPlugin, releasePlugin } from "./scripts/build/release.ts";
import { reportPlugin } from "./scripts/test/hardhat-plugin.ts";

const COMPILER = {
  version: "0.8.37",
  // It comes from npm: nothing is downloaded. The path must be absolute.
  path: fileURLToPath(import.meta.resolve("solc/soljson.js")),
};

/**
 * The Solidity tests themselves: the old code generator without the optimizer compiles them in a fifth of the time. They deploy the
 * released bytecode, so this changes no code under test.
 */
const TEST_COMPILER = { ...COMPILER, settings: { viaIR: false, evmVersion: "cancun", optimizer: { enabled: false } } };
const SOLIDITY_TESTS = globSync("test/contracts/solidity/**/*.sol", { cwd: import.meta.dirname });

/**
 * Enough for 64 clients with a wallet of their own (gas of a full batch). Their keys are the numbers from 1: to derive so many from a
 * mnemonic takes a second for each chain.
 */
const ACCOUNTS = Array.from({ length: 80 }, (_, i) => ({
  privateKey: `0x${(i + 1).toString(16).padStart(64, "0")}`,
  balance: 10n ** 22n,
}));

export default defineConfig({
  plugins: [toolbox, releasePlugin, oneTestJobPlugin, reportPlugin],
  solidity: {
    compilers: [
      {
        ...COMPILER,
        settings: {
          viaIR: true,
          evmVersion: "cancun",
          optimizer: { enabled: true, runs: 200 },
          outputSelection: { "*": { "*": ["storageLayout"] } },
        },
      },
    ],
    overrides: Object.fromEntries(SOLIDITY_TESTS.map((file) => [file, TEST_COMPILER])),
    // The release has no test in it.
    splitTestsCompilation: true,
  },
  paths: {
    sources: ["./contracts", "./test/contracts/tokens"],
    // Not the tokens: a source of both would be compiled again for each, and every build undo the other.
    tests: { mocha: "./test/contracts", solidity: "./test/contracts/solidity" },
  },
  coverage: { skipFiles: ["test/**"] },
  // The generated files do not keep to `erasableSyntaxOnly`; only their types are ever used.
  typechain: { outDir: "./types/ethers-contracts", tsNocheck: true },
  // With a gas limit given, no transaction is simulated before it is sent.
  networks: { default: { type: "edr-simulated", chainType: "l1", accounts: ACCOUNTS, gas: 16_000_000 } },
  test: {
    mocha: { timeout: 120_000 },
    solidity: {
      // Hardhat's own seed is a constant: each run of the tests draws the same values and the same campaigns.
      fuzz: { runs: 1_000 },
      invariant: { runs: 64, depth: 128, failOnRevert: true },
      // The tests link and deploy what is compiled already.
      fsPermissions: { readDirectory: ["artifacts"] },
    },
  },
});
