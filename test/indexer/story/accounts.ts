import { expect, test } from "vitest";
import { getAccount, getWorker, listWalletEvents } from "../../../api/index/index.ts";
import type { Live } from "./live.ts";

/** Balances, books and stakes against what the contracts say. */
export function accounts(live: Live): void {
  test("the account is the chain's: balance, limits, open disputes, and its books add up", async () => {
    const { pool, world } = live.stage;
    const account = await getAccount(pool, world.client.address);
    if (account === null) throw new Error("no account");
    const onChain = await world.read<Record<string, number>>("InferenceEscrow", "accountOf", world.client.address);
    expect(account).toMatchObject({
      free: onChain.free,
      escrowed: onChain.escrowed,
      sequence: onChain.sequence,
      dailyLimit: onChain.dailyLimit,
      openDisputes: onChain.openDisputes,
    });
    expect(account).toMatchObject({ dailyLimit: 4_000, frozen: false, disputes: 5, openDisputes: 1, forfeited: 100 });
    const { deposited, compensated, withdrawn, charged, forfeited } = account;
    expect(account.free + account.escrowed).toBe(deposited + compensated - withdrawn - charged - forfeited);
    const limits = (await listWalletEvents(pool, { wallet: world.client.address, limit: 100 })).find(
      (event) => event.kind === "account.limits_set",
    );
    expect(limits?.data).toMatchObject({ daily_limit: 4_000, frozen: false });
  });

  test("every balance an event tells of is what the one before left and the event changed", async () => {
    const rows = (
      await listWalletEvents(live.stage.pool, { wallet: live.stage.world.client.address, limit: 1_000 })
    ).reverse();
    const told = rows.filter((row) => "total_after" in row.data || "escrowed" in row.data);
    let total = 0;
    for (const { kind, data } of told) {
      const after = Number(data.free) + Number(data.escrowed);
      if ("total_after" in data) {
        expect([kind, data.total_after]).toEqual([kind, after]);
        expect([kind, data.total_before]).toEqual([kind, total]);
      } else expect([kind, after]).toEqual([kind, total]);
      total = after;
    }
    expect(total).toBeGreaterThan(0);
  });

  test("the stake of the worker is the registry's", async () => {
    const { pool, world } = live.stage;
    const onChain = await world.read<{ stake: bigint }>("WorkerRegistry", "workerAt", 1);
    expect((await getWorker(pool, world.worker.address))?.stake).toBe(onChain.stake);
    const [config] = await live.stage.sql("SELECT arbiter_set::text, arbiter_quorum FROM index.protocol_config");
    expect(config).toEqual({ arbiter_set: "2", arbiter_quorum: 1 });
  });
}
