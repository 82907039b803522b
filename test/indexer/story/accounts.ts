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
      operator: onChain.operator,
    });
    expect(account).toMatchObject({ dailyLimit: 4_000, frozen: false, disputes: 13, openDisputes: 1, forfeited: 300 });
    const { deposited, compensated, withdrawn, charged, forfeited } = account;
    expect(account.free + account.escrowed).toBe(deposited + compensated - withdrawn - charged - forfeited);
    const limits = (await listWalletEvents(pool, { wallet: world.client.address, limit: 1_000 })).find(
      (event) => event.kind === "account.limits_set",
    );
    expect(limits?.data).toMatchObject({ daily_limit: 4_000, frozen: false });
  });

  test("what the wallet chose is told", async () => {
    const { pool, world } = live.stage;
    const rows = (await listWalletEvents(pool, { wallet: world.client.address, limit: 1_000 })).reverse();
    const told = rows.filter(({ kind }) => /operator_chosen|authorization_key_set/.test(kind));
    expect(told.map(({ kind, data }) => [kind, data.operator ?? data.key !== null])).toEqual([
      ["account.operator_chosen", 0],
      ["account.operator_chosen", 1],
      ["account.authorization_key_set", true],
      ["account.authorization_key_set", false],
    ]);
    const [row] = await live.stage.sql("SELECT operator, authorization_key FROM index.account WHERE wallet = $1", [
      world.client.address.toLowerCase(),
    ]);
    expect(row).toEqual({ operator: 1, authorization_key: null });
  });

  test("operators are as the contract has them: admin, signers, reserve", async () => {
    const { world } = live.stage;
    const columns = "admin, stopped, reserve::int, held::int, leaving::int, leaves_at::int, sequence::int";
    const rows = await live.stage.sql(`SELECT ${columns} FROM index.operator ORDER BY number`);
    const stopped = await world.read<bigint>("InferenceEscrow", "stoppedOperators");
    for (const [i, row] of rows.entries()) {
      const onChain = await world.read<Record<string, unknown>>("InferenceEscrow", "operatorOf", i + 1);
      const { admin, leaving, leavesAt: leaves_at, ...rest } = onChain;
      expect(row).toEqual({
        ...rest,
        stopped: ((stopped >> BigInt(i)) & 1n) === 1n,
        admin: String(admin).toLowerCase(),
        leaving: leaving || null,
        leaves_at: leaves_at || null,
      });
    }
    expect(rows).toMatchObject([
      { stopped: false, held: 0, leaving: 3 },
      { stopped: true, reserve: 0, leaving: null },
    ]);
    const [first] = await live.stage.sql<{ signers: { signer: string; addedAt: number; removedAt: number | null }[] }>(
      "SELECT signers FROM index.operator WHERE number = 1",
    );
    expect(first?.signers).toMatchObject([{ signer: world.gateway.address.toLowerCase(), removedAt: null }, {}]);
    for (const { signer, removedAt } of first?.signers ?? []) {
      const [operator, removed] = await world.read<[number, number]>("InferenceEscrow", "signerOf", signer);
      expect([operator, removed]).toEqual([1, removedAt ?? 0]);
    }
    expect(first?.signers[1]?.removedAt).toBeGreaterThanOrEqual(first?.signers[1]?.addedAt ?? Number.NaN);
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
