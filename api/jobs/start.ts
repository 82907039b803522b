/** Builds what a gateway needs to run jobs and to end them. */
import type { Hex } from "viem";
import { inferenceEscrowAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import type { Cipher } from "../../shared/cipher.ts";
import { preconfirmationLimit } from "../../shared/preconfirmation-limit.ts";
import type { Base } from "../base.ts";
import { JobSightings, newestKnownBlock } from "../chain/job-sightings.ts";
import { provenIn } from "../chain/settlements.ts";
import type { Chain, Sending } from "../chain/start.ts";
import { AbandonedRequests } from "../db/abandoned-requests.ts";
import { JobStore } from "../db/jobs.ts";
import type { Workers } from "../workers/start.ts";
import { EarlierAnswers } from "./earlier-answers.ts";
import { type EndingParts, JobEnding } from "./job-ending.ts";
import { JobReader } from "./job-reader.ts";
import { KeptAnswers } from "./kept-answers.ts";
import type { JobTimes } from "./next-step.ts";
import { PlaceQueue } from "./place-queue.ts";
import { Recovery } from "./recovery.ts";
import { RowUpdater } from "./row-updater.ts";
import type { RunningJobs } from "./running-jobs.ts";
import { TokenCounter } from "./tokens.ts";
import { WalletStandings } from "./wallet-standing.ts";

export type Jobs = ReturnType<typeof createJobs>;

/** The deployment's windows, which nobody can change, and this gateway's own times. */
export async function readTimes({ config }: Pick<Base, "config">, { rpc, escrow }: Chain): Promise<JobTimes> {
  const { completion, inclusion, finalization, dispute, arbitration } = await rpc.client.readContract({
    address: escrow,
    abi: inferenceEscrowAbi,
    functionName: "windows",
  });
  return {
    completion,
    inclusion,
    finalization,
    dispute,
    arbitration,
    acknowledge: config.ACKNOWLEDGE_SECONDS,
    firstToken: config.FIRST_TOKEN_SECONDS,
    queue: config.QUEUE_SECONDS,
    lock: config.LOCK_SECONDS,
  };
}

/**
 * The rows of this gateway's jobs, what keeps them up with mined transactions, and how wallets stand by them. Claims the rows of an earlier process of
 * this signer.
 */
export async function openRows({ pool, metrics, logger }: Base, { account, operator }: Chain) {
  const self = { gateway: account.address, operator: operator.id };
  const store = new JobStore(pool, self, (state) => metrics.jobs.inc({ state }));
  await store.claimOwn();
  const updater = new RowUpdater(store, logger);
  const standings = new WalletStandings();
  await standings.recall(pool);
  return { store, updater, standings, observe: updater.observe, reopen: (jobIds: Hex[]) => store.reopen(jobIds) };
}

type Below = {
  chain: Chain;
  times: JobTimes;
  rows: Awaited<ReturnType<typeof openRows>>;
  sending: Sending;
  workers: Workers;
  /** Encrypts the answers that are kept. */
  cipher: Cipher;
  running: RunningJobs;
  /** Disputes the charge of an answer that its worker proved and withholds. */
  dispute: EndingParts["dispute"];
};

/** `start` begins the sweep over unfinished jobs; call it when no transaction of an earlier process is open any more. */
export function createJobs(
  { config, pool, metrics, logger }: Base,
  { chain, times, rows, sending, workers: { workers, client, directory }, cipher, running, dispute }: Below,
) {
  const { account, chainId, escrow, contracts, rpc, signerLock, operator, head } = chain;
  const { balances, pipeline, index } = sending;
  const { store, updater, standings } = rows;
  const { OUTPUT_RETENTION_HOURS: outputRetentionHours } = config;
  const reader = new JobReader(pool, escrow);
  const queueParts = { workers, balances, standings, operator, head, pipeline, metrics };
  const queue = new PlaceQueue(queueParts, { seconds: config.QUEUE_SECONDS });
  const tokens = new TokenCounter();
  const abandoned = new AbandonedRequests(pool);
  const jobs = { address: escrow, abi: inferenceEscrowAbi } as const;
  const registry = { address: contracts.WorkerRegistry, abi: workerRegistryAbi } as const;
  const workerOf = async (jobId: Hex) => {
    const { worker } = await rpc.client.readContract({ ...jobs, functionName: "jobOf", args: [jobId] });
    if (worker === 0) return null;
    return await rpc.client.readContract({ ...registry, functionName: "signerOf", args: [worker] });
  };
  const ending = new JobEnding({
    pipeline,
    store,
    rows: updater,
    workers,
    balances,
    head,
    times,
    cipher,
    outputRetentionHours,
    dispute,
    workerOf,
    proven: async (jobId) => {
      const proofTx = (await reader.indexed(jobId))?.proofTx ?? null;
      return proofTx === null ? null : ((await provenIn(rpc, jobId, proofTx))?.completion ?? null);
    },
    logger,
  });
  const parts = {
    account,
    operator,
    chainId,
    escrow,
    times,
    head,
    isClosedToWorkers: async (jobId: Hex) => {
      const { status } = await rpc.client.readContract({ ...jobs, functionName: "jobOf", args: [jobId] });
      // A node that is late has not seen the lock yet.
      return !([ChainStatus.None, ChainStatus.Locked, ChainStatus.Acknowledged] as number[]).includes(status);
    },
    pipeline,
    promises: preconfirmationLimit(config.LOCK_SEEN, config.PRECONFIRMED_JOB_CREDITS, config.PRECONFIRMED_CREDITS),
    balances,
    workers,
    queue,
    standings,
    tokens,
    client,
    store,
    abandoned,
    rows: updater,
    ending,
    logger,
  };
  const recovery = new Recovery({
    ...parts,
    outputRetentionHours,
    rpc,
    registry: contracts.WorkerRegistry,
    sightings: new JobSightings({ rpc, escrow, head, knownBlock: () => newestKnownBlock(pool) }),
    index: pool,
    indexIsWhole: () => index.indexedUntil === null,
    contextWindow: (model) => directory.contextWindow(model),
    isRunning: (jobId) => running.has(jobId),
    signer: signerLock,
  });
  /** Lets running jobs and sweeps end, at most `timeoutMs` each. */
  const stop = async (timeoutMs: number): Promise<void> => {
    queue.close();
    store.writeLeaves();
    await running.ended(timeoutMs);
    await recovery.stop(timeoutMs);
    await tokens.stop();
  };
  return {
    parts,
    reader,
    queue,
    abandoned,
    earlier: new EarlierAnswers(parts),
    kept: new KeptAnswers(store, cipher),
    start: () => recovery.start(),
    stop,
  };
}
