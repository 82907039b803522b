import { type Hex, keccak256 } from "viem";
import { describe, expect, it, vi } from "vitest";
import { batchCalldata, batchGas, type Operation } from "../../../../api/chain/operations.ts";
import { SignerLock } from "../../../../api/chain/signer-lock.ts";
import { signVariant } from "../../../../api/chain/transaction.ts";
import { answeredJob, placeOf } from "./settlement.ts";
import { account, lock, logger, sleep, type World } from "./world.ts";

/** Processes that end, and processes beside each other. */
export function processes(world: World): void {
  /** Ends a process that has put the operation on record, without having broadcast it. Returns the transaction. */
  const endWithout = async ({ pipeline, head, outbox }: Awaited<ReturnType<World["start"]>>, operation: Operation) => {
    await pipeline.stop(1_000);
    const operations = [operation];
    const nonce = await world.node.getTransactionCount({ address: account.address });
    const context = {
      account,
      chainId: world.stack.info.chain_id,
      escrow: world.stack.info.contracts.InferenceEscrow as Hex,
      head,
      priorityFee: 1_000_000_000n,
      feeCap: 500_000_000_000n,
    };
    const variant = await signVariant(context as never, nonce, batchGas(operations), batchCalldata(operations));
    await outbox.insert({ nonce, gas: batchGas(operations), items: operations }, variant, []);
    return variant.hash;
  };

  describe("a process that ends between signing and mining", () => {
    it("leaves its transaction to the next one, which finishes the very same bytes", async () => {
      const first = await world.start();
      await world.node.setAutomine(false);
      const operation = lock(first.head);
      const hash = await first.pipeline.submit(operation).sent;
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
      const hash = await first.pipeline.submit(lock(first.head)).sent;
      await world.untilPending(1);
      await first.pipeline.stop(0);

      let mined = false;
      const second = await world.startOnly();
      const takenUp = second.takenUp.then(() => {
        expect(mined).toBe(true);
      });
      expect(await second.outbox.open()).toHaveLength(1);
      mined = true;
      await world.node.setAutomine(true);
      await world.node.mine({ blocks: 1 });
      await takenUp;
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
    it("a second one is refused until the first lets go", async () => {
      const make = () =>
        new SignerLock(world.stack.info.database_url, world.stack.info.chain_id, account.address, logger);
      const [first, second] = [make(), make()];
      expect(await first.acquire()).toBe(true);
      expect(await second.acquire()).toBe(false);
      await first.release();
      expect(await second.acquire()).toBe(true);
      await second.release();
    });

    it("a nonce recorded by another process is left to it; the operation takes the next one", async () => {
      const { outbox, head, pipeline } = await world.start();
      await pipeline.submit(lock(head)).mined;
      const nonce = (await outbox.lastNonce()) + 1;
      const foreign = await world.foreignTransaction(nonce);
      const variant = { hash: keccak256(foreign), raw: foreign, maxFee: 1n, priorityFee: 1n };
      await outbox.insert({ nonce, gas: 21_000n, items: [] }, variant, []);
      await world.sendForeign(foreign);
      expect((await pipeline.submit(lock(head)).mined).status).toBe("mined");
      expect(await outbox.lastNonce()).toBe(nonce + 1);
      await outbox.markMined(nonce, keccak256(foreign), 1, null);
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
}
