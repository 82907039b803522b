/** Builds what a gateway process has of the chain: its connection and the right to send, then the pipeline that sends. */
import { formatEther, type Hex } from "viem";
import { signingAccount } from "../../shared/secp256k1.ts";
import type { Base } from "../base.ts";
import { Balances } from "./balances.ts";
import { IndexWatch } from "./index-watch.ts";
import { Operator } from "./operator.ts";
import { Outbox } from "./outbox.ts";
import { type BatchObserver, Pipeline } from "./pipeline.ts";
import { connectRpc, Head } from "./rpc.ts";
import { SignerLock } from "./signer-lock.ts";

/** The chain as this process reads it, and whom it signs for. */
export type Chain = Awaited<ReturnType<typeof connectChain>>;
/** The parts that send this process's transactions and know the wallets' balances. */
export type Sending = Awaited<ReturnType<typeof startPipeline>>;

/**
 * Connects to the nodes, takes the signer for this process alone, and finds the operator that it signs for. Rejects with what is missing and what to
 * do. `answered` resolves when the answers that run now are whole.
 */
export async function connectChain({ config, logger }: Pick<Base, "config" | "logger">, answered: () => Promise<void>) {
  const { contracts, chainId } = config.deployment;
  const escrow = contracts.InferenceEscrow;
  const account = signingAccount(config.GATEWAY_PRIVATE_KEY);
  const rpc = connectRpc([config.RPC_URL, ...config.RPC_URLS], logger);
  const found = await rpc.client.getChainId();
  if (found !== chainId) throw new Error(`RPC_URL is chain ${found}, the deployment file is for chain ${chainId}.`);
  rpc.watch(chainId);
  const signerLock = await SignerLock.keep({ databaseUrl: config.DATABASE_URL, chainId }, account.address, logger);
  // Another gateway of the operator claims the jobs of a signer whose lock is free. It would fail those that are still being answered.
  const removed = (): void =>
    void answered()
      .then(() => signerLock.release())
      .catch((error) => logger.warn({ err: error }, "the removed key's signer lock could not be given up"));
  const operator = await Operator.find({ rpc, escrow, signer: account.address, logger, removed });
  const head = new Head(rpc, logger);
  await head.start();
  const stop = async (): Promise<void> => {
    operator.stop();
    head.stop();
    rpc.stop();
    await signerLock.release();
  };
  return { account, chainId, escrow, contracts, rpc, signerLock, operator, head, stop };
}

/** The functions by which the pipeline updates job rows: for each mined batch, and for jobs that a reorganisation opened again. */
type Rows = { observe: BatchObserver; reopen: (jobIds: Hex[]) => Promise<void> };

/**
 * Starts the pipeline, which takes up the transactions that an earlier process of this signer left open; `recovered` resolves when they have come to
 * their end. `settleBefore`: chain time before which a job that was locked then can be settled. `fatal` ends the process after a defect.
 */
export async function startPipeline(
  { config, pool, metrics, logger }: Base,
  { account, chainId, escrow, rpc, signerLock, head }: Chain,
  rows: Rows,
  settleBefore: (lockedAt: number) => number,
  fatal: (error: unknown, message: string) => void,
) {
  const balances = new Balances({ rpc, pool, escrow, head, settleBefore });
  const pipeline = new Pipeline(
    {
      account,
      chainId,
      escrow,
      head,
      outbox: new Outbox(pool, account.address),
      bounds: {
        leastTip: config.PRIORITY_FEE_WEI,
        feeCap: config.FEE_CAP_WEI,
        costCap: config.TRANSACTION_COST_CAP_WEI,
      },
      replaceAfterMs: config.REPLACE_AFTER_SECONDS * 1000,
      metrics,
      logger,
      takenBack: (jobIds) => {
        balances.forget();
        return rows.reopen(jobIds);
      },
      maySend: () => signerLock.held,
      term: () => signerLock.term,
      fatal,
    },
    rpc,
    { batchGas: config.BATCH_GAS, sendsPerSecond: config.SENDS_PER_SECOND },
  );
  pipeline.onMined((batch) => balances.observe(batch));
  pipeline.onMined(rows.observe);
  pipeline.onMined(({ fee, eventsByJob }) => {
    metrics.gas.inc(Number(formatEther(fee)));
    for (const { name, args } of [...eventsByJob.values()].flat())
      if (name === "JobSettled") metrics.charged.inc(Number(args.credits));
  });
  const index = new IndexWatch(pool, head, logger);
  index.start(config.SENDS_PER_SECOND, (perSecond) => pipeline.setSendRate(perSecond));
  const { recovered } = await pipeline.start();
  const stop = async (timeoutMs: number): Promise<void> => {
    index.stop();
    await pipeline.stop(timeoutMs);
  };
  return { balances, pipeline, index, recovered, stop };
}
