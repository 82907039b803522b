/** The transaction pipeline against a real node and a real database: whatever the node does, an operation happens once. */

import type pg from "pg";
import { pino } from "pino";
import { createTestClient, type Hex, http, keccak256, publicActions } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { Broadcaster } from "../../../api/chain/broadcast.ts";
import { MAX_IN_FLIGHT } from "../../../api/chain/gathering.ts";
import { Head } from "../../../api/chain/head.ts";
import { failOperation, lockOperation, type Operation } from "../../../api/chain/operations.ts";
import { Outbox } from "../../../api/chain/outbox.ts";
import { eventOf } from "../../../api/chain/outcome.ts";
import { Pipeline } from "../../../api/chain/pipeline.ts";
import { connectRpc } from "../../../api/chain/rpc.ts";
import { SignerLock } from "../../../api/chain/signer-lock.ts";
import { Metrics } from "../../../api/metrics.ts";
import { migrate, openDatabase } from "../../../api/store/database.ts";
import type { NewJob } from "../../../api/store/new-jobs.ts";
import { newJobId, toApiJobId } from "../../../protocol/job-id.ts";
import { FailureReason } from "../../../protocol/job-status.ts";
import { DEPLOYER_KEY, GATEWAY } from "../../../scripts/local-stack/accounts.ts";
import { provideCredits } from "../../../scripts/local-stack/funding.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

const logger = pino({ level: "silent" });
const account = privateKeyToAccount(GATEWAY.privateKey);
const owner = privateKeyToAccount(generatePrivateKey());

let stack: TestStack;
let pool: pg.Pool;
let takenBack: Hex[] = [];
let open: { pipeline: Pipeline; head: Head }[] = [];

const node = () =>
  createTestClient({ mode: "anvil", transport: http(stack.info.rpc_url), pollingInterval: 50 }).extend(publicActions);

beforeAll(async () => {
  stack = await startTestStack({ parts: ["chain", "database", "contracts"], workers: [] });
  await migrate(stack.info.database_url, logger);
  pool = openDatabase(stack.info.database_url, logger, 5);
  await provideCredits(stack.info, { funder: privateKeyToAccount(DEPLOYER_KEY), owner, credits: 10_000 });
});
afterEach(async () => {
  await node().setAutomine(true);
  for (const { pipeline, head } of open) {
    await pipeline.stop(5_000);
    head.stop();
  }
  open = [];
});
afterAll(async () => {
  await pool?.end();
  await stack?.remove();
});

/** A pipeline as a gateway process would have it. */
async function start({ replaceAfterMs = 15_000 } = {}) {
  const rpc = connectRpc(stack.info.rpc_url);
  const head = new Head(rpc, logger);
  await head.start(100);
  const context = {
    account,
    chainId: stack.info.chain_id,
    escrow: stack.info.contracts.InferenceEscrow as Hex,
    head,
    outbox: new Outbox(pool, account.address),
    broadcaster: new Broadcaster(rpc),
    priorityFee: 1_000_000_000n,
    logger,
    replaceAfterMs,
    feeCap: 500_000_000_000n,
    metrics: new Metrics(),
    takenBack: async (jobIds: Hex[]) => void takenBack.push(...jobIds),
    maySend: () => true,
    stopping: () => pipeline.stopping,
  };
  const pipeline: Pipeline = new Pipeline(context, rpc, { batchGas: 12_000_000n, sendsPerSecond: 1_000 });
  open.push({ pipeline, head });
  await pipeline.start();
  return { pipeline, head, outbox: context.outbox };
}

/** Locks two credits of the test's wallet. */
const lock = (head: Head, more: Partial<Parameters<typeof lockOperation>[0]> = {}) =>
  lockOperation({
    jobId: newJobId(),
    wallet: owner.address,
    model: 8,
    maxTokens: 100,
    maxCredits: 100,
    validUntil: head.time + 60,
    ...more,
  });

describe("group commit", () => {
  it("sends the first at once and gathers the rest into few transactions", async () => {
    const { pipeline, head } = await start();
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => pipeline.submit(lock(head)).mined));
    expect(outcomes.map((outcome) => outcome.status)).toEqual(Array(40).fill("mined"));
    expect(new Set(outcomes.map((outcome) => outcome.hash)).size).toBeLessThanOrEqual(5);
  });

  it("a failing item tells why and leaves its neighbours alone", async () => {
    const { pipeline, head } = await start();
    const [good, poor, late, twice] = await Promise.all(
      [
        lock(head),
        lock(head, { wallet: account.address }),
        lock(head, { validUntil: head.time - 10 }),
        failOperation(newJobId(), FailureReason.Cancelled),
      ].map((operation) => pipeline.submit(operation).mined),
    );
    expect(good && eventOf(good, "JobLocked")?.args).toMatchObject({ wallet: owner.address, credits: 2 });
    expect(poor).toMatchObject({
      status: "reverted",
      revert: { name: "Ledger_UnknownAccount", args: [account.address] },
    });
    expect(late).toMatchObject({ status: "reverted", revert: { name: "Job_LockExpired" } });
    expect(twice).toMatchObject({ status: "reverted", revert: { name: "Job_WrongState" } });
  });
});

describe("a node that does not mine", () => {
  it("eight consecutive nonces at most are in flight, and all are mined in the end", async () => {
    const { pipeline, head } = await start();
    await node().setAutomine(false);
    const submissions = [];
    for (let i = 0; i < 14; i++) {
      submissions.push(pipeline.submit(lock(head)));
      await sleep(60);
    }
    const pool_ = await node().getTxpoolStatus();
    expect(pool_.pending + pool_.queued).toBe(MAX_IN_FLIGHT);
    await node().setAutomine(true);
    await node().mine({ blocks: 1 });
    const outcomes = await Promise.all(submissions.map(({ mined }) => mined));
    expect(outcomes.every((outcome) => outcome.status === "mined")).toBe(true);
  });

  it("a dropped transaction comes back as the very same bytes", async () => {
    const { pipeline, head } = await start();
    await node().setAutomine(false);
    const { sent, mined } = pipeline.submit(lock(head));
    const hash = await sent;
    await until(async () => (await node().getTxpoolStatus()).pending === 1);
    await node().dropTransaction({ hash });
    await until(async () => (await node().getTxpoolStatus()).pending === 1);
    await node().setAutomine(true);
    await node().mine({ blocks: 1 });
    expect(await mined).toMatchObject({ status: "mined", hash });
  });

  it("a stuck transaction gets a higher fee, and its operation happens once", async () => {
    const { pipeline, head } = await start({ replaceAfterMs: 1_000 });
    await node().setAutomine(false);
    const { sent, mined } = pipeline.submit(lock(head));
    const first = await sent;
    const variants = async () => {
      const rows = await pool.query(
        "SELECT hash FROM chain_transaction_variant WHERE nonce = (SELECT max(nonce) FROM chain_transaction)",
      );
      return rows.rows.map((row) => row.hash);
    };
    await until(async () => (await variants()).length > 1, 15_000);
    await sleep(200);
    expect((await node().getTxpoolStatus()).pending).toBe(1);
    await node().setAutomine(true);
    await node().mine({ blocks: 1 });
    const outcome = await mined;
    expect(outcome.status).toBe("mined");
    expect(outcome.hash).not.toBe(first);
    expect(await variants()).toContain(outcome.hash);
  }, 30_000);
});

describe("a process that ends between signing and mining", () => {
  it("leaves its transaction to the next one, which finishes the very same bytes", async () => {
    const first = await start();
    await node().setAutomine(false);
    const operation = lock(first.head);
    const hash = await first.pipeline.submit(operation).sent;
    await until(async () => (await node().getTxpoolStatus()).pending === 1);
    await node().dropTransaction({ hash });
    await first.pipeline.stop(0);
    await node().setAutomine(true);

    const second = await start();
    const receipt = await node().getTransactionReceipt({ hash });
    expect(receipt.status).toBe("success");
    expect(await second.outbox.open()).toEqual([]);
    const again = await second.pipeline.submit(operation).mined;
    expect(again).toMatchObject({ status: "reverted", revert: { name: "Job_AlreadyExists" } });
  });

  it("that never broadcast it: the next one does", async () => {
    const first = await start();
    const { head, outbox } = first;
    const { signVariant } = await import("../../../api/chain/transaction.ts");
    const { batchCalldata, batchGas } = await import("../../../api/chain/operations.ts");
    await first.pipeline.stop(1_000);
    const operations = [lock(head)];
    const nonce = await node().getTransactionCount({ address: account.address });
    const context = {
      account,
      chainId: stack.info.chain_id,
      escrow: stack.info.contracts.InferenceEscrow as Hex,
      head,
      priorityFee: 1_000_000_000n,
    };
    const variant = await signVariant(context as never, nonce, batchGas(operations), batchCalldata(operations));
    await outbox.insert({ nonce, gas: batchGas(operations), items: operations }, variant, []);

    await start();
    expect((await node().getTransactionReceipt({ hash: variant.hash })).status).toBe("success");
  });
});

describe("a nonce used by a foreign transaction of the same key", () => {
  it("costs the operation a new nonce, not its life", async () => {
    const { pipeline, head } = await start();
    await pipeline.submit(lock(head)).mined;
    const foreign = await account.signTransaction({
      type: "eip1559",
      chainId: stack.info.chain_id,
      nonce: await node().getTransactionCount({ address: account.address }),
      to: account.address,
      gas: 21_000n,
      maxFeePerGas: 100_000_000_000n,
    });
    await node().sendRawTransaction({ serializedTransaction: foreign });
    const outcome = await pipeline.submit(lock(head)).mined;
    expect(outcome.status).toBe("mined");
  }, 20_000);
});

describe("a new job", () => {
  const row = (operation: Operation): NewJob => ({
    jobId: operation.jobId,
    wallet: owner.address,
    gateway: account.address,
    model: "qwen3-1.7b",
    tier: "lite",
    validUntil: 1_900_000_000,
    creditsLocked: 2,
  });
  const stored = async (operation: Operation) =>
    (await pool.query("SELECT state FROM job WHERE job_id = $1", [toApiJobId(operation.jobId)])).rows;

  it("is on record when its lock is mined, and once only when the lock goes out a second time", async () => {
    const { pipeline, head } = await start();
    const operation = lock(head);
    expect((await pipeline.submit(operation, row(operation)).mined).status).toBe("mined");
    expect(await stored(operation)).toEqual([{ state: "locking" }]);
    await pool.query("UPDATE job SET state = 'pending' WHERE job_id = $1", [toApiJobId(operation.jobId)]);
    expect((await pipeline.submit(operation, row(operation)).mined).status).toBe("reverted");
    expect(await stored(operation)).toEqual([{ state: "pending" }]);
  });

  it("that cannot be recorded is not sent, nor is its transaction on record; both are once it can", async () => {
    const { pipeline, head, outbox } = await start();
    await pipeline.submit(lock(head)).mined;
    const nonce = await outbox.lastNonce();
    const operation = lock(head);
    await pool.query("ALTER TABLE job RENAME TO job_away");
    const { mined } = pipeline.submit(operation, row(operation));
    await sleep(1_200);
    expect(await outbox.lastNonce()).toBe(nonce);
    await pool.query("ALTER TABLE job_away RENAME TO job");
    expect((await mined).status).toBe("mined");
    expect(await stored(operation)).toEqual([{ state: "locking" }]);
  });
});

describe("a reorganisation", () => {
  it("that takes transactions back: the same bytes are mined again, without a restart", async () => {
    const { pipeline, head } = await start();
    const operation = lock(head);
    const before = await pipeline.submit(operation).mined;
    if (before.status !== "mined") throw new Error("not locked");
    takenBack = [];
    await node().request({ method: "anvil_reorg" as never, params: [1, []] as never });
    await vi.waitFor(
      async () => {
        const receipt = await node().getTransactionReceipt({ hash: before.hash });
        expect(receipt.status).toBe("success");
      },
      { timeout: 15_000, interval: 100 },
    );
    expect(takenBack).toEqual([operation.jobId]);
    // And what is sent next is not held up by a gap in the nonces.
    expect((await pipeline.submit(failOperation(operation.jobId, FailureReason.Cancelled)).mined).status).toBe("mined");
  });
});

describe("a reorganisation that has mined the transaction elsewhere already", () => {
  const moved = async (hash: Hex) => {
    const [{ number: from }, raw] = await Promise.all([
      node().getBlock(),
      node().request({ method: "eth_getRawTransactionByHash" as never, params: [hash] as never }),
    ]);
    // The block, mined anew without it; the next one has it.
    await node().request({ method: "anvil_reorg" as never, params: [2, [[raw, 1]]] as never });
    const receipt = await node().getTransactionReceipt({ hash });
    expect(receipt.blockNumber).toBe(from);
    return receipt;
  };
  const rowOf = async (hash: Hex) => {
    const { rows } = await pool.query(
      "SELECT mined_block, mined_block_hash FROM chain_transaction WHERE mined_hash = $1",
      [hash],
    );
    return rows[0];
  };

  it("is noticed: an item can have come to something else there", async () => {
    const { pipeline, head } = await start();
    const operation = lock(head);
    const before = await pipeline.submit(operation).mined;
    await node().mine({ blocks: 1 });
    takenBack = [];
    const { blockNumber, blockHash } = await moved(before.hash);
    const now = { mined_block: Number(blockNumber), mined_block_hash: blockHash };
    await vi.waitFor(async () => expect(await rowOf(before.hash)).toEqual(now), { timeout: 15_000, interval: 100 });
    expect(takenBack).toEqual([operation.jobId]);
    // Seen once, it is not looked for again.
    await sleep(2_500);
    expect(takenBack).toEqual([operation.jobId]);
  }, 25_000);

  it("is noticed by the next process, when this one was away", async () => {
    const { pipeline, head } = await start();
    const operation = lock(head);
    const before = await pipeline.submit(operation).mined;
    await node().mine({ blocks: 1 });
    await pipeline.stop(1_000);
    takenBack = [];
    const { blockHash } = await moved(before.hash);
    await start();
    expect(takenBack).toEqual([operation.jobId]);
    expect(await rowOf(before.hash)).toMatchObject({ mined_block_hash: blockHash });
  });
});

describe("one process a signer", () => {
  it("a second one is refused until the first lets go", async () => {
    const make = () => new SignerLock(stack.info.database_url, stack.info.chain_id, account.address, logger);
    const [first, second] = [make(), make()];
    expect(await first.acquire()).toBe(true);
    expect(await second.acquire()).toBe(false);
    await first.release();
    expect(await second.acquire()).toBe(true);
    await second.release();
  });

  it("a nonce recorded by another process is left to it; the operation takes the next one", async () => {
    const { outbox, head, pipeline } = await start();
    await pipeline.submit(lock(head)).mined;
    const nonce = (await outbox.lastNonce()) + 1;
    const foreign = await account.signTransaction({
      type: "eip1559",
      chainId: stack.info.chain_id,
      nonce,
      to: account.address,
      gas: 21_000n,
      maxFeePerGas: 100_000_000_000n,
    });
    const variant = { hash: keccak256(foreign), raw: foreign, maxFee: 1n, priorityFee: 1n };
    await outbox.insert({ nonce, gas: 21_000n, items: [] }, variant, []);
    await node().sendRawTransaction({ serializedTransaction: foreign });
    expect((await pipeline.submit(lock(head)).mined).status).toBe("mined");
    expect(await outbox.lastNonce()).toBe(nonce + 1);
    await outbox.markMined(nonce, keccak256(foreign), 1, null);
  });

  it("nothing is sent that could not be recorded; it is mined once it could", async () => {
    const { head, pipeline } = await start();
    const nonce = await node().getTransactionCount({ address: account.address });
    await pool.query("ALTER TABLE chain_transaction RENAME TO chain_transaction_away");
    const { mined } = pipeline.submit(lock(head));
    await sleep(1_200);
    expect(await node().getTransactionCount({ address: account.address, blockTag: "pending" })).toBe(nonce);
    await pool.query("ALTER TABLE chain_transaction_away RENAME TO chain_transaction");
    expect((await mined).status).toBe("mined");
  });
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(check: () => Promise<boolean>, ms = 10_000): Promise<void> {
  const deadline = Date.now() + ms;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`still not so after ${ms} ms`);
    await sleep(50);
  }
}
