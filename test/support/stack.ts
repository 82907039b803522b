import { freePorts } from "../../scripts/dev/ports.ts";
import { removeDataDir } from "../../scripts/dev/postgres.ts";
import {
  DEFAULT_WORKERS,
  PARTS,
  type PartName,
  type Stack,
  type StackOptions,
  startStack,
} from "../../scripts/dev/stack.ts";
import { signal } from "../../shared/process.ts";
import { copyDeployedChain, plainEnv, sharedDatabase, temporaryDataDir } from "./shared.ts";

export type { Stack } from "../../scripts/dev/stack.ts";
export { plainEnv, temporaryDataDir } from "./shared.ts";

export type TestStackOptions = Partial<Omit<StackOptions, "baseEnv">> & {
  /** A PostgreSQL server of its own, which the test may kill: part "postgres". */
  ownDatabase?: boolean;
  /** Shows the progress of the start. */
  verbose?: boolean;
};

export type TestStack = Stack & {
  /** Kills the stack and deletes its data folder. One whose folder the test brought is stopped, and may be started again. */
  remove: () => Promise<void>;
};

/**
 * Starts a stack of its own for a test suite, on free ports, in a fresh folder:
 *
 *     const stack = await startTestStack({ windows: { completion: 5 }, workers: [{ models: ["qwen3-8b"] }] });
 *     ...
 *     await stack.remove();
 *
 * `parts: ["chain", "database"]` leaves out what a suite does not need. A part that dies by itself fails the suite.
 *
 * The database is a new one on the server of the test run, and the chain has the contracts already (shared.ts). A stack with a data
 * folder of the test's own has its own server and deploys, as `npm start` does: it can be stopped and started again.
 */
export async function startTestStack(given: TestStackOptions = {}): Promise<TestStack> {
  const { verbose, ownDatabase, ...options } = given;
  const workers = options.workers ?? DEFAULT_WORKERS;
  const dataDir = options.dataDir ?? temporaryDataDir();
  const all: StackOptions = {
    ports: options.ports ?? (await freePorts(workers.length)),
    parts: PARTS,
    // Without its workers a suite has nothing to test.
    routingSeconds: 120,
    env: {},
    baseEnv: plainEnv(),
    ...options,
    dataDir,
    workers,
    write: options.write ?? (verbose ? (line) => console.log(line) : () => {}),
  };
  if (options.dataDir === undefined) {
    if (all.parts.includes("contracts")) await copyDeployedChain(dataDir, all);
    if (all.parts.includes("database") && !ownDatabase) all.databaseUrl ??= await sharedDatabase();
  }
  const stack = await startStack(all).ready;
  void stack.died.then((error) => {
    console.error(`The test stack lost a part: ${error.message}`);
    void stack.stop();
  });
  return {
    ...stack,
    remove: async () => {
      const stopped = stack.stop();
      if (options.dataDir !== undefined) return await stopped;
      // A killed PostgreSQL would leave shared memory in the system.
      for (const { name, pid, running } of stack.processes())
        if (running && name !== "postgres") signal(-pid, "SIGKILL");
      await stopped;
      removeDataDir(dataDir);
    },
  };
}

/** A suite that only needs the chain with the contracts, for example. */
export const only = (...parts: PartName[]): readonly PartName[] => parts;
