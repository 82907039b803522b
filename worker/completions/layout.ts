import { join } from "node:path";

/** Keys of the store; what they hold is described at CompletionStore. */
export const TAKEN = "taken/";
export const COMPLETION = "completion/";
export const REPAIRED = "repaired";

/** The LevelDB in a worker's data folder. */
export const storePath = (folder: string): string => join(folder, "jobs");

/** The keys that begin with `prefix`, which ends with a slash: "0" comes right after it. */
export const range = (prefix: string) => ({ gte: prefix, lt: `${prefix.slice(0, -1)}0` });
