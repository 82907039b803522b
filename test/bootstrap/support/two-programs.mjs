/** Runs two programs as the front door does; between them it says so, and goes on once the file of its argument is there. */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { runChild } from "../../../scripts/bootstrap/child.mjs";

const place = { cwd: process.cwd(), env: process.env };
const first = await runChild(process.execPath, ["-e", "console.log('the first runs')"], place);
console.log("between the two");
while (!existsSync(process.argv[2])) await sleep(25);
// A signal that came before the file is dealt with while we sleep.
await sleep(25);
const second = await runChild(process.execPath, ["-e", "console.log('the second runs')"], place);
console.log(`exit codes ${first} and ${second}`);
