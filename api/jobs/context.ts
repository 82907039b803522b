import type { Logger } from "pino";
import type { Address, Hex } from "viem";
import type { Cipher } from "../../shared/cipher.ts";
import type { PreconfirmationLimit } from "../../shared/preconfirmation-limit.ts";
import type { SigningAccount } from "../../shared/secp256k1.ts";
import type { Balances } from "../chain/balances.ts";
import type { Operator } from "../chain/operator.ts";
import type { Pipeline } from "../chain/pipeline.ts";
import type { Head } from "../chain/rpc.ts";
import type { AbandonedRequests } from "../db/abandoned-requests.ts";
import type { JobStore } from "../db/jobs.ts";
import type { WorkerClient } from "../workers/worker-client.ts";
import type { WorkerPool } from "../workers/worker-pool.ts";
import type { FailurePauses } from "./failure-pauses.ts";
import type { JobEnding } from "./job-ending.ts";
import type { JobTimes } from "./next-step.ts";
import type { PlaceQueue } from "./place-queue.ts";
import type { RowUpdater } from "./row-updater.ts";
import type { TokenCounter } from "./tokens.ts";

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
