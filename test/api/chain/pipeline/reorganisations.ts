import type { Hex } from "viem";
import { describe, expect, it, vi } from "vitest";
import { failOperation } from "../../../../api/chain/operations.ts";
import { FailureReason } from "../../../../protocol/job-status.ts";
import { answeredJob, placeOf, settle } from "./settlement.ts";
import { lock, sleep, type World } from "./world.ts";

/** What a reorganisation takes back or moves. */
export function reorganisations(world: World): void {
  describe("a reorganisation", () => {
    it("that takes transactions back: the same bytes are mined again, without a restart", async () => {
      const { pipeline, head } = await world.start();
      const operation = lock(head);
      const before = await pipeline.submit(operation).mined;
      if (before.status !== "mined") throw new Error("not locked");
      world.takenBack = [];
      await world.node.request({ method: "anvil_reorg" as never, params: [1, []] as never });
      await vi.waitFor(
        async () => {
          const receipt = await world.node.getTransactionReceipt({ hash: before.hash });
          expect(receipt.status).toBe("success");
        },
        { timeout: 60_000, interval: 100 },
      );
      expect(world.takenBack).toEqual([operation.jobId]);
      // And what is sent next is not held up by a gap in the nonces.
      expect((await pipeline.submit(failOperation(operation.jobId, FailureReason.Cancelled)).mined).status).toBe(
        "mined",
      );
    });

    it("that takes a settlement back: the job's row says where it is mined then", async () => {
      const started = await world.start();
      const settlement = await answeredJob(world, started);
      const hash = await settle(world, started.pipeline, settlement);
      const row = () => world.store.find(settlement.jobId);
      const before = await placeOf(world, hash);
      expect(await row()).toMatchObject(before);
      world.takenBack = [];
      await world.node.request({ method: "anvil_reorg" as never, params: [1, []] as never });
      await vi.waitFor(() => expect(world.takenBack).toEqual([settlement.jobId]), { timeout: 60_000, interval: 50 });
      const again = async () => expect(await row()).toMatchObject({ state: "settled", settlementTx: hash });
      await vi.waitFor(again, { timeout: 60_000, interval: 50 });
      const now = await placeOf(world, hash);
      expect(now.settlementBlock).toBeGreaterThan(before.settlementBlock);
      expect(await row()).toMatchObject(now);
    });
  });

  describe("a reorganisation that has mined the transaction elsewhere already", () => {
    const moved = async (hash: Hex) => {
      const [{ number: from }, raw] = await Promise.all([
        world.node.getBlock(),
        world.node.request({ method: "eth_getRawTransactionByHash" as never, params: [hash] as never }),
      ]);
      // The block, mined anew without it; the next one has it.
      await world.node.request({ method: "anvil_reorg" as never, params: [2, [[raw, 1]]] as never });
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
    const reorganise = (depth: number) =>
      world.node.request({ method: "anvil_reorg" as never, params: [depth, []] as never });

    it("before it is given up: the same bytes are sent again", async () => {
      const { pipeline, head } = await world.start();
      await pipeline.submit(lock(head)).mined;
      await world.useNextNonce();
      const { sent, mined } = pipeline.submit(lock(head));
      const hash = await sent;
      // It was told that its nonce is used, and looks for who used it: for two seconds, or less on a busy machine.
      await sleep(200);
      await reorganise(1);
      expect(await mined).toMatchObject({ status: "mined", hash });
      expect((await pipeline.submit(lock(head)).mined).status).toBe("mined");
    });

    it("afterwards: no gap is left before what was sent with the next one", async () => {
      const { pipeline, head } = await world.start();
      await pipeline.submit(lock(head)).mined;
      await world.useNextNonce();
      const { hash } = await pipeline.submit(lock(head)).mined;
      await reorganise(2);
      const mined = async () => expect((await world.node.getTransactionReceipt({ hash })).status).toBe("success");
      await vi.waitFor(mined, { timeout: 60_000, interval: 100 });
      expect((await pipeline.submit(lock(head)).mined).status).toBe("mined");
    });
  });
}
