import type { Logger } from "pino";
import type { Address, Hex } from "viem";
import { OUTPUT_ACCESS_SECONDS, type OutputRequest, outputAccessTypes } from "../../protocol/dispatch.ts";
import { type Assignment, escrowDomain } from "../../protocol/messages.ts";
import type { Cipher } from "../../shared/cipher.ts";
import { jobDigests } from "../../shared/keccak.ts";
import type { PreconfirmationLimit } from "../../shared/preconfirmation-limit.ts";
import type { SigningAccount } from "../../shared/secp256k1.ts";
import type { Balances } from "../chain/balances.ts";
import type { Operator } from "../chain/operator.ts";
import type { Pipeline } from "../chain/pipeline.ts";
import type { Head } from "../chain/rpc.ts";
import type { AbandonedRequests } from "../db/abandoned-requests.ts";
import type { JobStore } from "../db/jobs.ts";
import type { FailurePauses } from "./failure-pauses.ts";
import type { JobEnding } from "./job-ending.ts";
import type { JobTimes } from "./next-step.ts";
import type { PlaceQueue } from "./place-queue.ts";
import type { RowUpdater } from "./row-updater.ts";
import type { TokenCounter } from "./tokens.ts";
import type { WorkerClient } from "./worker-client.ts";
import type { WorkerPool } from "./worker-pool.ts";

/** All that running a job needs. */
export type JobContext = {
  account: SigningAccount;
  /** Whom `account` signs for. */
  operator: Operator;
  chainId: number;
  escrow: Address;
  times: JobTimes;
  head: Head;
  /** Whether the chain shows the job proven or ended. Rejects where the node does not answer. */
  isClosedToWorkers: (jobId: Hex) => Promise<boolean>;
  pipeline: Pipeline;
  /** Jobs that run on a promise of their lock. */
  promises: PreconfirmationLimit;
  balances: Balances;
  workers: WorkerPool;
  /** Where requests wait for a place at a worker. */
  queue: PlaceQueue;
  /** Wallets whose requests fail at sound models pause between their jobs. */
  pauses: FailurePauses;
  /** Counts the tokens of prompts. */
  tokens: TokenCounter;
  /** The connection to workers. */
  client: WorkerClient;
  store: JobStore;
  /** Requests whose clients hung up, which a repetition can join. */
  abandoned: AbandonedRequests;
  cipher: Cipher;
  outputRetentionHours: number;
  /** Updates the rows of jobs from our mined transactions. */
  rows: RowUpdater;
  /** Ends jobs: the one place that charges, fails and refunds them. */
  ending: JobEnding;
  logger: Logger;
};

/** Shows a worker that this gateway asks now, for the answer of a job or for a trial. */
export async function signAccess(
  { account, chainId, escrow }: Pick<JobContext, "account" | "chainId" | "escrow">,
  { jobId, worker }: { jobId: Hex; worker: Address },
): Promise<OutputRequest["access"]> {
  const expiresAt = Math.floor(Date.now() / 1000) + OUTPUT_ACCESS_SECONDS;
  const signature = await account.signTypedData({
    domain: escrowDomain(chainId, escrow),
    types: outputAccessTypes,
    primaryType: "OutputAccess",
    message: { jobId, worker, expiresAt },
  });
  return { expiresAt, signature };
}

/** Signs a job's offer to one worker. */
export function signAssignment(
  { account, chainId, escrow }: Pick<JobContext, "account" | "chainId" | "escrow">,
  assignment: Assignment,
): Promise<Hex> {
  return account.sign({ hash: jobDigests(chainId, escrow).assignment(assignment) });
}
