import type { StopRule } from "./records.ts";

/** How a part is started, when it counts as running, and how it is stopped. */
export type PartSpec = {
  name: string;
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  /** The project's folder by default. */
  cwd?: string;
  /** User to run as; the current one by default. */
  user?: { uid: number; gid: number };
  /** What has to be put right before each start. */
  before?: () => void;
  ready: () => Promise<boolean>;
  readyTimeoutMs: number;
  /** Ends during the start that pass on their own: what its log then says, and for how long the start is tried again. */
  passing?: { says: RegExp; forMs: number };
  stop: StopRule;
  /** What a person can do when this part dies. */
  hint: string;
};

/** How a process ended, as the end of a sentence that begins with its name. */
export type Exit = { ok: boolean; how: string };

export type Part = {
  name: string;
  pid: number;
  /** Settles once the process has ended; never rejects. */
  exited: Promise<Exit>;
  hasExited: () => boolean;
};

/** Who stops before whom: nobody loses what it depends on. */
export const RANK = { task: 0, api: 1, worker: 2, indexer: 3, postgres: 4, chain: 5 } as const;
