/** The transaction pipeline when processes end, stand beside each other, or a reorganisation takes back what was mined. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Hex, keccak256 } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { failOperation, type Operation } from "../../../api/chain/operations.ts";
import { firstOffer, signVariant } from "../../../api/chain/transaction.ts";
import { FailureReason } from "../../../protocol/job-status.ts";
import { account, answeredJob, lock, placeOf, settle, World } from "../../support/pipeline-world.ts";

/** So often a test that came too late begins again. */
const ROUNDS = 5;

const world = new World();

beforeAll(() => world.open());
afterEach(() => world.endPipelines());
afterAll(() => world.close());

/** Ends a process that has put the operation on record, without having broadcast it. Returns the transaction. */
const endWithout = async (process: Awaited<ReturnType<World["start"]>>, operation: Operation) => {
  await process.pipeline.stop(1_000);
  return recordOnly(process, operation);
};

/** Puts the operation on record with the signer's next nonce, without broadcasting it. Returns the transaction. */
const recordOnly = async ({ head, outbox }: Awaited<ReturnType<World["start"]>>, operation: Operation) => {
  const operations = [operation];
  const nonce = await world.node.getTransactionCount({ address: account.address });
  const context = {
    account,
    chainId: world.stack.info.chain_id,
    escrow: world.stack.info.contracts.InferenceEscrow as Hex,
    head,
    bounds: { leastTip: 1_000_000_000n, feeCap: 500_000_000_000n, costCap: 10n ** 18n },
  };
  const variant = await signVariant(context, { nonce, items: operations }, firstOffer(context, operations, 0));
  await outbox.insert({ nonce, items: operations, variants: [variant] }, []);
  return variant.hash;
};

describe("a process that ends between signing and mining", () => {
  it("leaves its transaction to the next one, which finishes the very same bytes", async () => {
    const first = await world.start();
    await world.node.setAutomine(false);
    const operation = lock(first.head);
    const hash = await first.pipeline.submit(operation).signed;
    await world.untilPending(1);
    await world.node.dropTransaction({ hash });
    await first.pipeline.stop(0);
    await world.node.setAutomine(true);

    const second = await world.start();
    const receipt = await world.node.getTransactionReceipt({ hash });
    expect(receipt.status).toBe("success");
    expect(await second.outbox.open()).toEqual([]);
    const again = await second.pipeline.submit(operation).mined;
    expect(again).toMatchObject({ status: "reverted", revert: { name: "Job_AlreadyExists" } });
  });

  it("leaves a settlement to the next one, which writes where it was mined", async () => {
    const first = await world.start();
    const settlement = await answeredJob(world, first);
    const hash = await endWithout(first, settlement);

    await world.start();
    const place = await placeOf(world, hash);
    const noted = async () => expect(await world.store.find(settlement.jobId)).toMatchObject(place);
    await vi.waitFor(noted, { timeout: 60_000, interval: 50 });
  });

  it("does not keep the next one from starting while the chain mines nothing", async () => {
    const first = await world.start();
    await world.node.setAutomine(false);
    const hash = await first.pipeline.submit(lock(first.head)).signed;
    await world.untilPending(1);
    await first.pipeline.stop(0);

    let mined = false;
    const second = await world.startOnly();
    const recovered = second.recovered.then(() => {
      expect(mined).toBe(true);
    });
    expect(await second.outbox.open()).toHaveLength(1);
    mined = true;
    await world.node.setAutomine(true);
    await world.node.mine({ blocks: 1 });
    await recovered;
    expect((await world.node.getTransactionReceipt({ hash })).status).toBe("success");
    expect(await second.outbox.open()).toEqual([]);
  });

  it("that never broadcast it: the next one does", async () => {
    const first = await world.start();
    const hash = await endWithout(first, lock(first.head));

    await world.start();
    expect((await world.node.getTransactionReceipt({ hash })).status).toBe("success");
  });
});

describe("one process a signer", () => {
  it("a nonce that another process recorded is left to it", async () => {
    const { outbox, head, pipeline } = await world.start();
    await pipeline.submit(lock(head)).mined;
    const nonce = (await outbox.lastNonce()) + 1;
    const foreign = await world.foreignTransaction(nonce);
    const price = { gas: 21_000n, maxFee: 1n, priorityFee: 1n };
    const variant = { hash: keccak256(foreign), raw: foreign, operations: 0, ...price };
    await outbox.insert({ nonce, items: [], variants: [variant] }, []);
    await world.sendForeign(foreign);
    expect((await pipeline.submit(lock(head)).mined).status).toBe("mined");
    expect(await outbox.lastNonce()).toBe(nonce + 1);
    await outbox.markMined(nonce, keccak256(foreign), 1, null);
  });

  it("nonces that another process used are skipped before a hash is told", async () => {
    const { outbox, head, pipeline } = await world.start();
    await pipeline.submit(lock(head)).mined;
    const nonce = (await outbox.lastNonce()) + 1;
    const foreign = await world.foreignTransaction(nonce);
    const price = { gas: 21_000n, maxFee: 1n, priorityFee: 1n };
    const variant = { hash: keccak256(foreign), raw: foreign, operations: 0, ...price };
    await outbox.insert({ nonce, items: [], variants: [variant] }, []);
    await world.sendForeign(foreign);
    world.term += 1;
    const { signed, mined } = pipeline.submit(lock(head));
    // A reply names this transaction before it is recorded.
    expect(await signed).toBe((await mined).hash);
    await outbox.markMined(nonce, keccak256(foreign), 1, null);
  });

  it.each([
    ["is found as its nonce is taken", 0],
    ["is found once the signer's lock is held again", 1],
  ])("what another process recorded and never sent %s, and is mined", async (_, terms) => {
    const process = await world.start();
    await process.pipeline.submit(lock(process.head)).mined;
    const hash = await recordOnly(process, lock(process.head));
    world.term += terms;
    expect((await process.pipeline.submit(lock(process.head)).mined).status).toBe("mined");
    expect((await world.node.getTransactionReceipt({ hash })).status).toBe("success");
    await vi.waitFor(async () => expect(await process.outbox.open()).toEqual([]), { timeout: 60_000, interval: 50 });
  });

  it("nothing is sent that could not be recorded; it is mined once it could", async () => {
    const { head, pipeline } = await world.start();
    const nonce = await world.node.getTransactionCount({ address: account.address });
    await world.pool.query("ALTER TABLE chain_transaction RENAME TO chain_transaction_away");
    const { mined } = pipeline.submit(lock(head));
    await sleep(1_200);
    expect(await world.node.getTransactionCount({ address: account.address, blockTag: "pending" })).toBe(nonce);
    await world.pool.query("ALTER TABLE chain_transaction_away RENAME TO chain_transaction");
    expect((await mined).status).toBe("mined");
  });
});

describe("a reorganisation", () => {
  it("that takes transactions back: the same bytes are mined again, without a restart", async () => {
    const { pipeline, head } = await world.start();
    const operation = lock(head);
    const before = await pipeline.submit(operation).mined;
    if (before.status !== "mined") throw new Error("not locked");
    world.takenBack = [];
    await world.reorganise(1);
    await vi.waitFor(
      async () => {
        const receipt = await world.node.getTransactionReceipt({ hash: before.hash });
        expect(receipt.status).toBe("success");
      },
      { timeout: 60_000, interval: 100 },
    );
    expect(world.takenBack).toEqual([operation.jobId]);
    // And what is sent next is not held up by a gap in the nonces.
    expect((await pipeline.submit(failOperation(operation.jobId, FailureReason.Cancelled)).mined).status).toBe("mined");
  });

  it("that takes a settlement back: the job's row says where it is mined then", async () => {
    const started = await world.start();
    const settlement = await answeredJob(world, started);
    const hash = await settle(world, started.pipeline, settlement);
    const row = () => world.store.find(settlement.jobId);
    const before = await placeOf(world, hash);
    expect(await row()).toMatchObject(before);
    world.takenBack = [];
    await world.reorganise(1);
    await vi.waitFor(() => expect(world.takenBack).toEqual([settlement.jobId]), { timeout: 60_000, interval: 50 });
    const again = async () => expect(await row()).toMatchObject({ state: "settled", settlementTx: hash });
    await vi.waitFor(again, { timeout: 60_000, interval: 50 });
    const now = await placeOf(world, hash);
    expect(now.settlementBlock).toBeGreaterThan(before.settlementBlock);
    expect(await row()).toMatchObject(now);
  });

  it("that takes a settlement back after a restart opens its job's row again", async () => {
    const first = await world.start();
    const settlement = await answeredJob(world, first);
    const hash = await settle(world, first.pipeline, settlement);
    const before = await placeOf(world, hash);
    await vi.waitFor(async () => expect(await world.store.find(settlement.jobId)).toMatchObject(before), {
      timeout: 60_000,
      interval: 50,
    });
    await first.pipeline.stop(1_000);
    const second = await world.start();
    world.takenBack = [];
    await world.node.setAutomine(false);
    await world.reorganise(1);
    await vi.waitFor(() => expect(world.takenBack).toEqual([settlement.jobId]), { timeout: 60_000, interval: 50 });
    expect(await world.store.find(settlement.jobId)).toMatchObject({ state: "settling", settlementTx: null });
    await world.node.setAutomine(true);
    const again = async () => {
      const now = await placeOf(world, hash);
      expect(now.settlementBlock).toBeGreaterThan(before.settlementBlock);
      expect(await world.store.find(settlement.jobId)).toMatchObject(now);
    };
    await vi.waitFor(again, { timeout: 60_000, interval: 50 });
    await second.pipeline.stop(1_000);
  });

  it("that takes back the nonce before one that is being taken up: both are mined", async () => {
    const first = await world.start();
    const before = await first.pipeline.submit(lock(first.head)).mined;
    await world.node.setAutomine(false);
    const hash = await endWithout(first, lock(first.head));
    const second = await world.startOnly();
    await world.untilPending(1);
    await world.reorganise(1);
    await world.node.setAutomine(true);
    await second.recovered;
    for (const each of [before.hash, hash]) {
      expect((await world.node.getTransactionReceipt({ hash: each })).status).toBe("success");
    }
  });
});

describe("a reorganisation that has mined the transaction elsewhere already", () => {
  const moved = async (hash: Hex) => {
    const [{ number: from }, raw] = await Promise.all([
      world.node.getBlock(),
      world.rpc<Hex>("eth_getRawTransactionByHash", hash),
    ]);
    // The block, mined anew without it; the next one has it.
    await world.reorganise(2, [[raw, 1]]);
    const receipt = await world.node.getTransactionReceipt({ hash });
    expect(receipt.blockNumber).toBe(from);
    return receipt;
  };
  const rowOf = async (hash: Hex) => {
    const { rows } = await world.pool.query(
      "SELECT mined_block, mined_block_hash FROM chain_transaction WHERE mined_hash = $1",
      [hash],
    );
    return rows[0];
  };

  it("is noticed: an item can have come to something else there", async () => {
    const { pipeline, head } = await world.start();
    const operation = lock(head);
    const before = await pipeline.submit(operation).mined;
    await world.node.mine({ blocks: 1 });
    world.takenBack = [];
    const { blockNumber, blockHash } = await moved(before.hash);
    const now = { mined_block: Number(blockNumber), mined_block_hash: blockHash };
    await vi.waitFor(async () => expect(await rowOf(before.hash)).toEqual(now), { timeout: 60_000, interval: 100 });
    expect(world.takenBack).toEqual([operation.jobId]);
    // Seen once, it is not looked for again.
    await sleep(2_500);
    expect(world.takenBack).toEqual([operation.jobId]);
  });

  it("is noticed by the next process, when this one was away", async () => {
    const { pipeline, head } = await world.start();
    const operation = lock(head);
    const before = await pipeline.submit(operation).mined;
    await world.node.mine({ blocks: 1 });
    // Its place is written after whoever waits for it is told.
    await vi.waitFor(async () => expect(await rowOf(before.hash)).toBeDefined(), { timeout: 60_000, interval: 50 });
    await pipeline.stop(1_000);
    world.takenBack = [];
    const { blockHash } = await moved(before.hash);
    await world.start();
    expect(world.takenBack).toEqual([operation.jobId]);
    expect(await rowOf(before.hash)).toMatchObject({ mined_block_hash: blockHash });
  });
});

describe("a nonce used by a foreign transaction that a reorganisation takes back", () => {
  const blockOf = async (hash: Hex) => (await world.node.getTransactionReceipt({ hash })).blockNumber;
  const reorganise = (depth: number) => world.reorganise(depth);

  it("before it is given up: the same bytes are sent again", async () => {
    const { pipeline, head } = await world.start();
    await pipeline.submit(lock(head)).mined;
    for (let round = 1; round <= ROUNDS; round++) {
      await world.takeNextNonce();
      const { signed, mined } = pipeline.submit(lock(head));
      const hash = await signed;
      // It was told that its nonce is used, and looks for who used it, for two seconds.
      await sleep(200);
      await reorganise(1);
      const outcome = await mined;
      expect(outcome.status).toBe("mined");
      expect((await pipeline.submit(lock(head)).mined).status).toBe("mined");
      // Where the machine stood still for these two seconds, the test begins again.
      if (outcome.hash === hash) return;
    }
    throw new Error(`given up before the reorganisation, ${ROUNDS} times`);
  });

  it("afterwards: no gap is left before what was sent with the next one", async () => {
    const { pipeline, head } = await world.start();
    await pipeline.submit(lock(head)).mined;
    await world.takeNextNonce();
    const { hash } = await pipeline.submit(lock(head)).mined;
    await reorganise(2);
    const mined = async () => expect((await world.node.getTransactionReceipt({ hash })).status).toBe("success");
    await vi.waitFor(mined, { timeout: 60_000, interval: 100 });
    expect((await pipeline.submit(lock(head)).mined).status).toBe("mined");
  });

  it("and mines ours in its place: that is noticed, though the nonce stays used", async () => {
    const { pipeline, head } = await world.start();
    await pipeline.submit(lock(head)).mined;
    await world.takeNextNonce();
    const { signed, mined } = pipeline.submit(lock(head));
    const ours = await signed;
    const { hash } = await mined;
    expect(hash).not.toBe(ours);
    const raws = await world.pool.query<{ raw: Hex }>(
      "SELECT raw FROM chain_transaction_variant WHERE hash = ANY($1) ORDER BY nonce",
      [[ours, hash]],
    );
    const places = raws.rows.map(({ raw }, block): [Hex, number] => [raw, block]);
    const depth = Number((await world.node.getBlockNumber()) - (await blockOf(hash))) + 2;
    await world.reorganise(depth, places);
    const rowOf = () => world.pool.query("SELECT FROM chain_transaction WHERE mined_hash = $1", [ours]);
    await vi.waitFor(async () => expect((await rowOf()).rowCount).toBe(1), { timeout: 60_000, interval: 100 });
    expect((await pipeline.submit(lock(head)).mined).status).toBe("mined");
  });
});
