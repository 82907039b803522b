/**
 * `npm run compile`: compiles the contracts, then writes the release (contracts/release/), its ABIs (protocol/generated/abi.ts) and the
 * contracts that tests of other folders deploy (test/support/contracts/).
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import hre from "hardhat";
import { releaseFiles } from "./release.ts";
import { testContractFiles } from "./test-contracts.ts";

const root = new URL("../../", import.meta.url);
process.chdir(fileURLToPath(root));

await hre.tasks.getTask("build").run({ noTests: true });
const files = [...(await releaseFiles(hre)), ...testContractFiles()];
for (const folder of ["contracts/release/", "test/support/contracts/"].map((path) => new URL(path, root))) {
  // A contract that is no longer in the list leaves no file behind.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
}
for (const [file, text] of files) writeFileSync(new URL(file, root), text);
console.log(`Wrote ${files.map(([file]) => file).join(", ")}.`);
