import type pg from "pg";
import { pino } from "pino";
import { createTestClient, createWalletClient, type Hex, http, type PublicClient, publicActions } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { completeOperation, lockOperation, type Operation, type Outcome } from "../../api/chain/operations.ts";
import { Outbox } from "../../api/chain/outbox.ts";
import { Pipeline } from "../../api/chain/pipeline.ts";
import { connectRpc, Head } from "../../api/chain/rpc.ts";
import { JobStore } from "../../api/db/jobs.ts";
import { migrate, openDatabase } from "../../api/db/pool.ts";
import { RowUpdater } from "../../api/jobs/row-updater.ts";
import { Metrics } from "../../api/observe/metrics.ts";
import { answerHash } from "../../protocol/answer-hash.ts";
import { jobDigests } from "../../protocol/digests.ts";
import { serviceTokenAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { newJobId } from "../../protocol/job-id.ts";
import { compactSignature, enrollmentTypes, registryDomain } from "../../protocol/messages.ts";
import { GATEWAY, provideCredits } from "../../scripts/dev/wallets.ts";
import { eventually } from "./api-client.ts";
import { richAccount } from "./gas.ts";
import { mined } from "./mined.ts";
import { startTestStack, type TestStack } from "./stack.ts";

const logger = pino({ level: "silent" });
/** The gateway's signer. */
export const account = privateKeyToAccount(GATEWAY.privateKey);
/** A wallet with credits. */
export const owner = privateKeyToAccount(generatePrivateKey());

/** `rpcUrl`: another way to the node than its own address. */
type PipelineOptions = { replaceAfterMs?: number; feeCap?: bigint; rpcUrl?: string };

const testClient = (url: string) =>
  createTestClient({ mode: "anvil", transport: http(url), pollingInterval: 50 }).extend(publicActions);

/** A node, a database, and the pipelines that a test starts on them. */
export class World {
  stack!: TestStack;
  databaseUrl!: string;
  pool!: pg.Pool;
  node!: ReturnType<typeof testClient>;
  store!: JobStore;
  rows!: RowUpdater;
  /** Jobs of which a pipeline said that a reorganisation took them back. */
  takenBack: Hex[] = [];
  /** The term of the signer's lock, as the pipelines see it. */
  term = 0;
  #open: { pipeline: Pipeline; head: Head }[] = [];

  async open(): Promise<void> {
    this.stack = await startTestStack({ parts: ["chain", "database", "contracts"], workers: [] });
    this.databaseUrl = this.stack.info.database_url;
    await migrate(this.databaseUrl, logger);
    this.pool = openDatabase(this.databaseUrl, logger, 5);
    this.store = new JobStore(this.pool, { gateway: account.address, operator: 1 });
    this.rows = new RowUpdater(this.store, logger);
    this.node = testClient(this.stack.info.rpc_url);
    const funder = await richAccount(this.stack);
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

  /** A call that viem's client has no name for. */
  rpc<Result>(method: string, ...params: unknown[]): Promise<Result> {
    return this.node.request<{ Method: string; Parameters: unknown[]; ReturnType: Result }>({ method, params });
  }

  /** The last `depth` blocks are mined anew, with these signed transactions, each at its place among them. */
  async reorganise(depth: number, transactions: [raw: Hex, at: number][] = []): Promise<void> {
    await this.rpc("anvil_reorg", depth, transactions);
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
  async takeNextNonce(): Promise<void> {
    const nonce = await this.node.getTransactionCount({ address: account.address });
    await this.sendForeign(await this.foreignTransaction(nonce));
  }

  /** Sends such a transaction; resolves when it is mined. */
  async sendForeign(serializedTransaction: Hex): Promise<void> {
    await mined(this.node as unknown as PublicClient, await this.node.sendRawTransaction({ serializedTransaction }));
  }

  /** A pipeline as a gateway process would have it, when it has taken up what an earlier one left. */
  async start(options: PipelineOptions = {}) {
    const started = await this.startOnly(options);
    await started.recovered;
    return started;
  }

  /** The same, while that is still under way. */
  async startOnly({ replaceAfterMs = 15_000, feeCap = 500_000_000_000n, rpcUrl }: PipelineOptions = {}) {
    const rpc = connectRpc(rpcUrl ?? this.stack.info.rpc_url);
    const head = new Head(rpc, logger);
    await head.start(100);
    const context = {
      account,
      chainId: this.stack.info.chain_id,
      escrow: this.stack.info.contracts.InferenceEscrow as Hex,
      head,
      outbox: new Outbox(this.pool, account.address),
      bounds: { leastTip: 1_000_000_000n, feeCap, costCap: 10n ** 18n },
      logger,
      replaceAfterMs,
      metrics: new Metrics(),
      takenBack: async (jobIds: Hex[]) => {
        await this.store.reopen(jobIds);
        this.takenBack.push(...jobIds);
      },
      maySend: () => true,
      term: () => this.term,
      fatal: (error: unknown) => {
        throw error;
      },
    };
    const pipeline = new Pipeline(context, rpc, { batchGas: 12_000_000n, sendsPerSecond: 1_000 });
    pipeline.onMined(this.rows.observe);
    this.#open.push({ pipeline, head });
    const { recovered } = await pipeline.start();
    return { pipeline, head, outbox: context.outbox, recovered };
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

/** Holds the stake tokens of a development chain; its key is public. */
export const holder = privateKeyToAccount("0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a");
export const MODEL = 8;
export const STAKE = 1_000_000_000n;
const TOKENS_PER_STAKE = 10n ** 12n;

/** Registers a worker with a signing key of its own and so many millionths of an SVC; returns its key. More stake of it may come later. */
export async function registerWorker({ stack, node }: World, stake = STAKE) {
  const worker = privateKeyToAccount(generatePrivateKey());
  const { WorkerRegistry, ServiceToken } = stack.info.contracts as Record<string, Hex>;
  const wallet = createWalletClient({ account: holder, transport: http(stack.info.rpc_url) });
  const send = async (hash: Promise<Hex>) => mined(node as unknown as PublicClient, await hash);
  const token = { address: ServiceToken as Hex, abi: serviceTokenAbi, chain: null } as const;
  const registry = { address: WorkerRegistry as Hex, abi: workerRegistryAbi, chain: null } as const;
  const allowance = [registry.address, 2n * STAKE * TOKENS_PER_STAKE] as const;
  await send(wallet.writeContract({ ...token, functionName: "approve", args: allowance }));
  const enrollment = await worker.signTypedData({
    domain: registryDomain(stack.info.chain_id, registry.address),
    types: enrollmentTypes,
    primaryType: "Enrollment",
    message: { owner: holder.address },
  });
  const consent = compactSignature(enrollment);
  const args = [worker.address, holder.address, "https://worker.example", [MODEL], stake, consent] as const;
  await send(wallet.writeContract({ ...registry, functionName: "register", args }));
  return worker;
}

/** Locks a job, which gets a row, and returns its settlement. */
export async function answeredJob(
  world: World,
  { pipeline, head }: Awaited<ReturnType<World["start"]>>,
): Promise<Operation> {
  const worker = await registerWorker(world);
  const operation = lock(head, { model: MODEL });
  const { jobId } = operation;
  const row = { jobId, wallet: owner.address, model: "m", tier: "lite", creditsLocked: 2, maxTokens: 100 } as const;
  const job = world.store.newJob({ ...row, validUntil: 1_900_000_000, repeatable: true });
  const locked = await pipeline.submit(operation, job).mined;
  if (locked.status !== "mined") throw new Error(`not locked: ${locked.revert.name}`);
  const { blockTime } = locked;
  const tokens = { promptTokens: 3, completionTokens: 4, reasoningTokens: 0, textBytes: 11 };
  const completion = { jobId, proofHash: answerHash("The answer."), ...tokens, completedAt: blockTime };
  const digests = jobDigests(world.stack.info.chain_id, world.stack.info.contracts["InferenceEscrow"] as Hex);
  const signature = await worker.sign({ hash: digests.completion(completion) });
  const settlement = { completion, signature, countedTokens: 4, wallet: owner.address };
  return completeOperation(settlement, (blockTime + 150) * 1000);
}

/** Settles the job; its row follows. Returns the transaction. */
export async function settle(world: World, pipeline: Pipeline, settlement: Operation): Promise<Hex> {
  const outcome: Outcome = await pipeline.submit(settlement).mined;
  if (outcome.status !== "mined") throw new Error(`not settled: ${outcome.revert.name}`);
  await world.rows.written(settlement.jobId);
  return outcome.hash;
}

/** Where the chain has the settlement, as its job's row should tell. */
export async function placeOf(world: World, hash: Hex) {
  const { blockNumber } = await world.node.getTransactionReceipt({ hash });
  const { timestamp } = await world.node.getBlock({ blockNumber });
  return {
    state: "settled",
    settlementTx: hash,
    settlementBlock: Number(blockNumber),
    settledAt: Number(timestamp),
  };
}
