import { expect, test } from "vitest";
import { getModel, getWorker, listModels } from "../../../api/index/index.ts";
import type { Live } from "./live.ts";

/** Models, workers and the protocol's settings against what the contracts say. */
export function catalog(live: Live): void {
  test("models and workers are as the contracts have them now", async () => {
    const { world, pool } = live.stage;
    const now = new Date((await world.now()) * 1000);
    const worker = await getWorker(pool, world.worker.address, now);
    const onChain = await world.read<{ stake: bigint; active: boolean; endpoint: string; models: number[] }>(
      "WorkerRegistry",
      "workerAt",
      1,
    );
    expect(worker).toMatchObject({
      stake: onChain.stake,
      active: onChain.active,
      endpoint: onChain.endpoint,
      models: onChain.models,
      unbondsAt: null,
    });
    expect(worker?.active).toBe(true);
    // The announced minimum is below the first one: before its time the stake does not suffice.
    expect((await getWorker(pool, world.worker.address, new Date(0)))?.active).toBe(false);
    const models = await listModels(pool, now);
    expect(models.map((model) => [model.id, model.activeWorkers])).toContainEqual(["qwen3-8b", 1]);
    expect(models.map((model) => [model.id, model.activeWorkers])).toContainEqual(["mistral-7b-instruct-v0.3", 0]);
    expect(await getModel(pool, "qwen3-14b", now)).toMatchObject({
      creditsPerRequest: 20,
      creditsPer1kTokens: 10,
      pricesChangeAt: null,
    });
    expect(await getModel(pool, "qwen3-14b", new Date(0))).toMatchObject({
      creditsPerRequest: 18,
      nextCreditsPerRequest: 20,
    });
    expect(await getModel(pool, "qwen3-1.7b", now)).toMatchObject({ retired: true });
    expect(await getModel(pool, "unknown", now)).toBeNull();
    // As text: how a driver reads 64 bits depends on who else set it up in this process.
    const amounts = ["minimum_stake", "next_minimum_stake", "slash_amount", "next_slash_amount"];
    const pauses = ["paused_by_guardian", "paused_by_governance", "compensation_cap::text"];
    const columns = ["fee_bps", "next_fee_bps", ...pauses, ...amounts.map((name) => `${name}::text`)].join(", ");
    const [config] = await live.stage.sql(`SELECT ${columns} FROM index.protocol_config`);
    expect(config).toEqual({
      fee_bps: 1_000,
      next_fee_bps: 500,
      paused_by_guardian: false,
      paused_by_governance: false,
      compensation_cap: "10000",
      minimum_stake: "1000000000",
      next_minimum_stake: "900000000",
      slash_amount: "500000000",
      next_slash_amount: "400000000",
    });
  });
}
