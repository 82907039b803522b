import type { StackOptions } from "./options.ts";
import type { Ports } from "./ports.ts";
import type { Secrets } from "./secrets.ts";
import type { Supervisor } from "./supervisor.ts";

/** What every part needs to know about the stack it belongs to. */
export type StackContext = {
  dataDir: string;
  ports: Ports;
  options: StackOptions;
  secrets: Secrets;
  supervisor: Supervisor;
  /** Aborted when the start is given up. */
  abort: AbortSignal;
  /** A line for the person who is watching. */
  report: (part: string, line: string) => void;
  /** Something to do when the stack has stopped. */
  onStop: (action: () => void) => void;
  urls: { rpc: string; ws: string; api: string; indexer: string };
  /** Known once the database runs. */
  databaseUrl: string;
  deploymentFile: string;
};
