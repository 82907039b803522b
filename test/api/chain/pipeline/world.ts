import type pg from "pg";
import { pino } from "pino";
import { createTestClient, type Hex, http, type PublicClient, publicActions } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { Broadcaster } from "../../../../api/chain/broadcast.ts";
import { Head } from "../../../../api/chain/head.ts";
import { lockOperation } from "../../../../api/chain/operations.ts";
import { Outbox } from "../../../../api/chain/outbox.ts";
import { Pipeline } from "../../../../api/chain/pipeline.ts";
import { connectRpc } from "../../../../api/chain/rpc.ts";
import { noteUnawaitedSettlements } from "../../../../api/jobs/unawaited-settlement.ts";
import { Metrics } from "../../../../api/metrics.ts";
import { migrate, openDatabase } from "../../../../api/store/database.ts";
import { JobStore } from "../../../../api/store/jobs.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { DEPLOYER_KEY, GATEWAY } from "../../../../scripts/local-stack/accounts.ts";
import { provideCredits } from "../../../../scripts/local-stack/funding.ts";
import { eventually } from "../../../support/api-client.ts";
import { mined } from "../../../support/mined.ts";
import { startTestStack, type TestStack } from "../../../support/stack.ts";

export const logger = pino({ level: "silent" });
/** The gateway's signer. */
export const account = privateKeyToAccount(GATEWAY.privateKey);
/** A wallet with credits. */
export const owner = privateKeyToAccount(generatePrivateKey());

const testClient = (url: string) =>
  createTestClient({ mode: "anvil", transport: http(url), pollingInterval: 50 }).extend(publicActions);

/** A node, a database, and the pipelines that a test starts on them. */
export class World {
  stack!: TestStack;
  pool!: pg.Pool;
  node!: ReturnType<typeof testClient>;
  store!: JobStore;
  /** Jobs of which a pipeline said that a reorganisation took them back. */
  takenBack: Hex[] = [];
  #open: { pipeline: Pipeline; head: Head }[] = [];

  async open(): Promise<void> {
    this.stack = await startTestStack({ parts: ["chain", "database", "contracts"], workers: [] });
    const { database_url, rpc_url } = this.stack.info;
    await migrate(database_url, logger);
    this.pool = openDatabase(database_url, logger, 5);
    this.store = new JobStore(this.pool);
    this.node = testClient(rpc_url);
    const funder = privateKeyToAccount(DEPLOYER_KEY);
    await provideCredits(this.stack.info, { funder, owner, credits: 10_000 });
  }

  /** Ends what a test has left running. */
  async endPipelines(): Promise<void> {
    await this.node.setAutomine(true);
    for (const { pipeline, head } of this.#open) {
      await pipeline.stop(5_000);
      head.stop();
    }
    this.#open = [];
  }

  async close(): Promise<void> {
    await this.pool?.end();
    await this.stack?.remove();
  }

  /** Mines a block of this base fee, wei per gas. */
  async raiseBaseFee(baseFeePerGas: bigint): Promise<void> {
    await this.node.setNextBlockBaseFeePerGas({ baseFeePerGas });
    await this.node.mine({ blocks: 1 });
  }

  /** Waits until `count` transactions wait at the node. */
  async untilPending(count: number): Promise<void> {
    await eventually(
      () => this.node.getTxpoolStatus(),
      ({ pending }) => pending === count,
    );
  }

  /** A signed transaction of the signer that is none of a pipeline's: somebody else has its key. */
  foreignTransaction(nonce: number): Promise<Hex> {
    return account.signTransaction({
      type: "eip1559",
      chainId: this.stack.info.chain_id,
      nonce,
      to: account.address,
      gas: 21_000n,
      maxFeePerGas: 100_000_000_000n,
    });
  }

  /** Such a transaction with the next nonce; resolves when it is mined. */
  async useNextNonce(): Promise<void> {
    const nonce = await this.node.getTransactionCount({ address: account.address });
    await this.sendForeign(await this.foreignTransaction(nonce));
  }

  /** Sends such a transaction; resolves when it is mined. */
  async sendForeign(serializedTransaction: Hex): Promise<void> {
    await mined(this.node as unknown as PublicClient, await this.node.sendRawTransaction({ serializedTransaction }));
  }

  /** A pipeline as a gateway process would have it, when it has taken up what an earlier one left. */
  async start(options: { replaceAfterMs?: number; feeCap?: bigint } = {}) {
    const started = await this.startOnly(options);
    await started.takenUp;
    return started;
  }

  /** The same, while that is still under way. */
  async startOnly({ replaceAfterMs = 15_000, feeCap = 500_000_000_000n } = {}) {
    const rpc = connectRpc(this.stack.info.rpc_url);
    const head = new Head(rpc, logger);
    await head.start(100);
    const context = {
      account,
      chainId: this.stack.info.chain_id,
      escrow: this.stack.info.contracts.InferenceEscrow as Hex,
      head,
      outbox: new Outbox(this.pool, account.address),
      broadcaster: new Broadcaster(rpc),
      priorityFee: 1_000_000_000n,
      logger,
      replaceAfterMs,
      feeCap,
      metrics: new Metrics(),
      takenBack: async (jobIds: Hex[]) => {
        await this.store.reopen(jobIds);
        this.takenBack.push(...jobIds);
      },
      maySend: () => true,
      fatal: (error: unknown) => {
        throw error;
      },
      stopping: () => pipeline.stopping,
    };
    const pipeline: Pipeline = new Pipeline(context, rpc, { batchGas: 12_000_000n, sendsPerSecond: 1_000 });
    pipeline.onMined(noteUnawaitedSettlements(this.store, logger));
    this.#open.push({ pipeline, head });
    const { takenUp } = await pipeline.start();
    return { pipeline, head, outbox: context.outbox, takenUp };
  }
}

/** Locks two credits of `owner`. */
export const lock = (head: Head, more: Partial<Parameters<typeof lockOperation>[0]> = {}) =>
  lockOperation({
    jobId: newJobId(),
    wallet: owner.address,
    model: 8,
    maxTokens: 100,
    maxCredits: 100,
    validUntil: head.time + 60,
    ...more,
  });

export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
