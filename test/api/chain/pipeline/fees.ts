import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../../../support/api-client.ts";
import { lock, type World } from "./world.ts";

const GWEI = 1_000_000_000n;
const CAP = 100n * GWEI;

/** A base fee that comes near the highest fee that may be offered, or goes beyond it. */
export function fees(world: World): void {
  describe("a base fee that rises", () => {
    // Low again: what the other tests sign is priced for an idle chain.
    afterEach(() => world.raiseBaseFee(7n));

    const offers = async (): Promise<bigint[]> => {
      const text = `SELECT max_fee FROM chain_transaction_variant
        WHERE nonce = (SELECT max(nonce) FROM chain_transaction) ORDER BY created_at`;
      return (await world.pool.query(text)).rows.map((row) => BigInt(row.max_fee));
    };

    it("to more than half of the cap: a new transaction offers the cap, no more, and is mined", async () => {
      await world.raiseBaseFee(70n * GWEI);
      const { pipeline, head } = await world.start({ feeCap: CAP });
      expect((await pipeline.submit(lock(head)).mined).status).toBe("mined");
      expect(await offers()).toEqual([CAP]);
    });

    it("over a waiting transaction, to more than half of the cap: the cap is offered, and it is mined", async () => {
      const { pipeline, head } = await world.start({ feeCap: CAP, replaceAfterMs: 1_000 });
      await world.node.setAutomine(false);
      const { mined } = pipeline.submit(lock(head));
      await world.untilPending(1);
      await world.raiseBaseFee(70n * GWEI);
      await eventually(offers, (all) => all.at(-1) === CAP);
      await world.node.setAutomine(true);
      await world.node.mine({ blocks: 1 });
      expect((await mined).status).toBe("mined");
    });

    it("beyond the cap: nothing above it is offered, and the transaction is mined once the fee has fallen", async () => {
      await world.raiseBaseFee(200n * GWEI);
      const { pipeline, head } = await world.start({ feeCap: CAP });
      const { sent, mined } = pipeline.submit(lock(head));
      await sent;
      expect(await offers()).toEqual([CAP]);
      expect((await world.node.getTxpoolStatus()).pending).toBe(0);
      await world.raiseBaseFee(GWEI);
      expect((await mined).status).toBe("mined");
      expect(await offers()).toEqual([CAP]);
    });
  });
}
