/** A program that makes a worker's key in the folder of its argument, as a first start on chain 1 does. */
import { Terminal } from "../../../worker/console.ts";
import { openWorkerKey } from "../../../worker/keys.ts";

const [, , dataDir = ""] = process.argv;
const config = { privateKey: null, passphrase: { text: null, file: null }, dataDir };
await openWorkerKey(config, new Terminal((text) => text), 1);
