/** What an audit of a job looks at. Gathered from a node by scripts/verify, or by any other reader of the chain. */
import type { Address, Hex } from "viem";
import type { AuditTransaction } from "./calls.ts";
import type { AnyEvent, AuditAddresses } from "./event-log.ts";

/** Seconds; `windows()` of the escrow, immutable. */
export type AuditWindows = {
  completion: number;
  inclusion: number;
  finalization: number;
  dispute: number;
  arbitration: number;
  equivocation: number;
};

export type JobEvidence = {
  jobId: Hex;
  chainId: number;
  addresses: AuditAddresses;
  windows: AuditWindows;
  /** Credits that a wallet puts up for a dispute of its own (`DISPUTE_BOND`). */
  disputeBond: number;
  /** All logs of the protocol and of both tokens in every transaction that concerns the job. */
  events: readonly AnyEvent[];
  /** Those transactions. */
  transactions: ReadonlyMap<Hex, AuditTransaction>;
  /** Catalog, registry, panel and administration, from the deployment to the job's last event. */
  configuration: readonly AnyEvent[];
  /** Every event that states a balance of the job's wallet, from the last one before the lock (if any) to the job's last event. */
  walletHistory: readonly AnyEvent[];
  /** What that history needs to be read: disputes that its rulings end, logs of transactions that compensated it. */
  walletContext: readonly AnyEvent[];
  /** Block time of every block with an event above. */
  timeOf: (block: bigint) => number;
  /** The job as the escrow has it stored now. */
  stored: { status: number; credits: number; worker: Address | null };
  /** Text whose hash is to be the proof; null without one. */
  text: Uint8Array | null;
};

/** One statement about a job, and whether it holds. */
export type Check = {
  /** Stable name for machines, e.g. `settlement.charge`. */
  id: string;
  holds: boolean;
  /** What was found, in plain words. */
  says: string;
};

/** Collects checks. */
export class Checks {
  readonly list: Check[] = [];

  /** Notes a check; `good` and `bad` say in words what was found. */
  add(id: string, holds: boolean, good: string, bad: string): boolean {
    this.list.push({ id, holds, says: holds ? good : bad });
    return holds;
  }
}
