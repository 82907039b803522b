import { removeDataDir } from "./postgres-home.ts";

/** Ends a throw-away stack with this process when that is interrupted: node and database would outlive it. Returns how to let that be. */
export function endWhenInterrupted(stack: { killAll: () => void }, dataDir: string): () => void {
  const end = (signal: NodeJS.Signals): void => {
    stack.killAll();
    removeDataDir(dataDir);
    process.exit(signal === "SIGINT" ? 130 : 143);
  };
  process.once("SIGINT", end).once("SIGTERM", end);
  return () => void process.off("SIGINT", end).off("SIGTERM", end);
}
