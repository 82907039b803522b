/** A program that starts the parts that it is given in DATA_DIR and says so, for tests that kill it. */
import { optionsFromEnv, type PartName, startStack } from "../../../scripts/dev/stack.ts";

const parts = process.argv.slice(2) as PartName[];
const stack = await startStack({ ...optionsFromEnv(process.env), parts }).ready;
console.log(`started ${JSON.stringify(stack.processes())}`);
setInterval(() => {}, 1_000);
