import { describe, expect, it } from "vitest";
import { MAX_IN_FLIGHT } from "../../../../api/chain/gathering.ts";
import { eventually } from "../../../support/api-client.ts";
import { account, lock, sleep, type World } from "./world.ts";

/** Transactions that wait, are dropped or get stuck, or lose their nonce. */
export function mining(world: World): void {
  describe("a node that does not mine", () => {
    it("eight consecutive nonces at most are in flight, and all are mined in the end", async () => {
      const { pipeline, head } = await world.start();
      await world.node.setAutomine(false);
      const submissions = [];
      // Each is at the node before the next is submitted: none waits with another for one transaction.
      for (let sent = 1; sent <= MAX_IN_FLIGHT; sent++) {
        submissions.push(pipeline.submit(lock(head)));
        await world.untilPending(sent);
      }
      for (let i = 0; i < 6; i++) submissions.push(pipeline.submit(lock(head)));
      await sleep(500);
      const { pending, queued } = await world.node.getTxpoolStatus();
      expect(pending + queued).toBe(MAX_IN_FLIGHT);
      await world.node.setAutomine(true);
      await world.node.mine({ blocks: 1 });
      const outcomes = await Promise.all(submissions.map(({ mined }) => mined));
      expect(outcomes.every((outcome) => outcome.status === "mined")).toBe(true);
    });

    it("a dropped transaction comes back as the very same bytes", async () => {
      const { pipeline, head } = await world.start();
      await world.node.setAutomine(false);
      const { sent, mined } = pipeline.submit(lock(head));
      const hash = await sent;
      await world.untilPending(1);
      await world.node.dropTransaction({ hash });
      await world.untilPending(1);
      await world.node.setAutomine(true);
      await world.node.mine({ blocks: 1 });
      expect(await mined).toMatchObject({ status: "mined", hash });
    });

    it("a stuck transaction gets a higher fee, and its operation happens once", async () => {
      const { pipeline, head } = await world.start({ replaceAfterMs: 1_000 });
      await world.node.setAutomine(false);
      const { sent, mined } = pipeline.submit(lock(head));
      const first = await sent;
      const variants = async () => {
        const rows = await world.pool.query(
          `SELECT hash FROM chain_transaction_variant WHERE nonce = (SELECT max(nonce) FROM chain_transaction)
           ORDER BY created_at`,
        );
        return rows.rows.map((row) => row.hash);
      };
      const [, replacement] = await eventually(variants, ({ length }) => length > 1);
      // It is on record before it is sent.
      await eventually(
        () => world.node.getTransaction({ hash: replacement }).catch(() => null),
        (transaction) => transaction !== null,
      );
      expect((await world.node.getTxpoolStatus()).pending).toBe(1);
      await world.node.setAutomine(true);
      await world.node.mine({ blocks: 1 });
      const outcome = await mined;
      expect(outcome.status).toBe("mined");
      expect(outcome.hash).not.toBe(first);
      expect(await variants()).toContain(outcome.hash);
    });
  });

  describe("a nonce used by a foreign transaction of the same key", () => {
    it("costs the operation a new nonce, not its life", async () => {
      const { pipeline, head } = await world.start();
      await pipeline.submit(lock(head)).mined;
      const nonce = await world.node.getTransactionCount({ address: account.address });
      await world.useNextNonce();
      const operation = lock(head);
      const left: (number | null)[] = [];
      pipeline.onSent((transaction, operations) => {
        if (operations.some(({ jobId }) => jobId === operation.jobId)) left.push(transaction);
      });
      const outcome = await pipeline.submit(operation).mined;
      expect(outcome.status).toBe("mined");
      // Whoever counts on it is told that it is in no transaction for a while.
      expect(left).toEqual([nonce, null, nonce + 1]);
    });
  });
}
