import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_WORKERS, PARTS, type PartName, type StackOptions } from "../../scripts/local-stack/options.ts";
import { freePorts } from "../../scripts/local-stack/ports.ts";
import { removeDataDir } from "../../scripts/local-stack/postgres-home.ts";
import { type Stack, startStack } from "../../scripts/local-stack/stack.ts";

export type { Stack } from "../../scripts/local-stack/stack.ts";

export type TestStackOptions = Partial<Omit<StackOptions, "baseEnv">> & {
  /** Shows the progress of the start. */
  verbose?: boolean;
};

export type TestStack = Stack & {
  /** Stops the stack and deletes its data folder, unless the test brought its own. */
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
 */
export async function startTestStack(given: TestStackOptions = {}): Promise<TestStack> {
  const { verbose, ...options } = given;
  const workers = options.workers ?? DEFAULT_WORKERS;
  const dataDir = options.dataDir ?? temporaryDataDir();
  const stack = await startStack({
    ports: options.ports ?? (await freePorts(workers.length)),
    parts: PARTS,
    chainId: 31_337,
    env: {},
    baseEnv: plainEnv(),
    ...options,
    dataDir,
    workers,
    write: options.write ?? (verbose ? (line) => console.log(line) : () => {}),
  }).ready;
  void stack.died.then((error) => {
    console.error(`The test stack lost a part: ${error.message}`);
    void stack.stop();
  });
  return {
    ...stack,
    remove: async () => {
      await stack.stop();
      if (options.dataDir === undefined) removeDataDir(dataDir);
    },
  };
}

/**
 * A fresh data folder, where the test runner finds and cleans it if the test is killed. Others may enter it, as the
 * database runs as another user when the tests run as root.
 */
export function temporaryDataDir(): string {
  const parent = process.env["TEST_STACKS"] ?? tmpdir();
  if (parent !== tmpdir()) chmodSync(parent, 0o711);
  const folder = mkdtempSync(join(parent, "stack-"));
  chmodSync(folder, 0o711);
  return folder;
}

/** A suite that only needs the chain with the contracts, for example. */
export const only = (...parts: PartName[]): readonly PartName[] => parts;

/** This environment without what the test runner adds: Vite sets BASE_URL, which is the gateway's own name for its address. */
export function plainEnv(): NodeJS.ProcessEnv {
  const foreign = /^(VITEST|VITE_|BASE_URL$|DEV$|PROD$|SSR$|MODE$|TEST$|NODE_ENV$|DATABASE_URL$|LOCAL_STACK$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}
