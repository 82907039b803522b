import { fileURLToPath } from "node:url";
import toolbox from "@nomicfoundation/hardhat-toolbox-mocha-ethers";
import { defineConfig } from "hardhat/config";

export default defineConfig({
  plugins: [toolbox],
  solidity: {
    version: "0.8.37",
    // The compiler comes from npm: nothing is downloaded. The path must be absolute.
    path: fileURLToPath(import.meta.resolve("solc/soljson.js")),
    settings: { viaIR: true, evmVersion: "cancun", optimizer: { enabled: true, runs: 800 } },
  },
  paths: { sources: "./contracts", tests: { mocha: "./test/contracts", solidity: "./test/contracts" } },
  typechain: { outDir: "./types/ethers-contracts" },
});
