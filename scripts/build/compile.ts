/** `npm run compile`: compiles the contracts and writes the release (contracts/release/) and its ABIs (protocol/generated/abi.ts). */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import hre from "hardhat";
import { releaseFiles } from "./release.ts";

const root = new URL("../../", import.meta.url);
process.chdir(fileURLToPath(root));

await hre.tasks.getTask("build").run({ noTests: true });
const files = await releaseFiles(hre);
// A contract that is no longer released leaves no file behind.
rmSync(new URL("contracts/release/", root), { recursive: true, force: true });
mkdirSync(new URL("contracts/release/", root));
for (const [file, text] of files) writeFileSync(new URL(file, root), text);
console.log(`Wrote ${[...files.keys()].join(", ")}.`);
