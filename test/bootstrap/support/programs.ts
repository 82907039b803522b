import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Ports } from "../../../scripts/dev/ports.ts";
import { identify } from "../../../shared/process.ts";
import { plainEnv } from "../../support/stack.ts";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** A program whose output is kept, and which can be waited for. */
export type Program = {
  child: ChildProcess;
  output: () => string;
  said: (text: string) => Promise<void>;
  ended: Promise<number | string>;
};

export function run(args: string[], env: NodeJS.ProcessEnv = {}): Program {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...plainEnv(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
  });
  child.stderr.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
  });
  const ended = new Promise<number | string>((resolve) =>
    child.once("close", (code, signal) => resolve(code ?? signal ?? "gone")),
  );
  const said = async (wanted: string): Promise<void> => {
    for (const deadline = Date.now() + 60_000; !text.includes(wanted); ) {
      if (Date.now() > deadline || child.exitCode !== null)
        throw new Error(`"${wanted}" was not said; instead:\n${text}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  };
  return { child, output: () => text, said, ended };
}

/** The settings of `npm start`, for a stack on these ports and in this folder. */
export function stackEnv(dataDir: string, ports: Ports): NodeJS.ProcessEnv {
  return {
    DATA_DIR: dataDir,
    API_PORT: String(ports.api),
    CHAIN_PORT: String(ports.chain),
    INDEXER_PORT: String(ports.indexer),
    WORKER_PORT: String(ports.worker),
    POSTGRES_PORT: String(ports.postgres),
  };
}

/** Is there a process with this number that is more than an unread exit status? */
export const isRunning = (pid: number): boolean => identify(pid) !== null;
