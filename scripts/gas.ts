/** Measures the gas of every operation and rewrites the committed table (test/contracts/gas/gas.snapshot.json). */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const hardhat = fileURLToPath(new URL("../node_modules/hardhat/dist/src/cli.js", import.meta.url));
const args = [hardhat, "test", "mocha", "test/contracts/gas/job-gas.test.ts"];
const { status } = spawnSync(process.execPath, args, {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, UPDATE_GAS: "1" },
});
process.exitCode = status ?? 1;
