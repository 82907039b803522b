/** A program that starts chain and database in DATA_DIR and says so, for tests that kill it. */
import { optionsFromEnv, startStack } from "../../../scripts/dev/stack.ts";

const stack = await startStack({ ...optionsFromEnv(process.env), parts: ["chain", "database"] }).ready;
console.log(`started ${JSON.stringify(stack.processes())}`);
setInterval(() => {}, 1_000);
