/**
 * `npm run coverage`: the contract tests with line and statement coverage of contracts/, the lines that no test
 * reaches, and exit code 1 below 99 % of either. The report for browsers is coverage/html/index.html.
 */
import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";

const LEAST = 99;
const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Instrumented code costs other gas and exceeds the size limit of a real node: what depends on either is left out, as is the comparison with the release. */
const LEFT_OUT = /(^|\/)(gas\/|gas-[^/]*\.test\.ts$|deployment\/(script|release)\.test\.ts$)/;

const tests = ["**/*.test.ts", "**/*.t.sol", "solidity/life/Life.sol"]
  .flatMap((pattern) => globSync(`test/contracts/${pattern}`, { cwd: ROOT }))
  .filter((file) => !LEFT_OUT.test(file));
const hardhat = fileURLToPath(new URL("../node_modules/hardhat/dist/src/cli.js", import.meta.url));
const child = spawn(process.execPath, [hardhat, "test", "--coverage", ...tests], {
  cwd: ROOT,
  env: { ...process.env, NO_COLOR: "1" },
  stdio: ["inherit", "pipe", "inherit"],
});
let output = "";
child.stdout.on("data", (chunk: Buffer) => {
  output += chunk.toString("utf8");
  process.stdout.write(chunk);
});
const code = await new Promise<number | null>((resolve, reject) => {
  child.once("error", reject);
  child.once("close", resolve);
});

const row = (name: string) => new RegExp(`║ ${name} +│ ([\\d.]+) +│ ([\\d.]+) +│ (.*?) +║`, "g");
const [total] = [...output.matchAll(row("Total"))];
if (code !== 0 || total === undefined) {
  console.error(total === undefined ? "There is no coverage report." : "Tests fail, so their coverage says little.");
  process.exit(1);
}
for (const [, file, lines, statements, uncovered] of output.matchAll(row("(contracts/[^ ]+)")))
  if (Number(lines) < 100 || Number(statements) < 100)
    console.log(`${file}: ${lines} % of lines, ${statements} % of statements; not reached: line ${uncovered}`);
const [, lines, statements] = total;
console.log(`contracts/: ${lines} % of lines, ${statements} % of statements; at least ${LEAST} % needed`);
if (Number(lines) < LEAST || Number(statements) < LEAST) process.exitCode = 1;
