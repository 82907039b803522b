import { afterAll, beforeEach, describe, expect, it } from "vitest";
import {
  ANY_WORKER,
  Observations,
  observedModels,
  observedOfModel,
  observedOfService,
  observedOfWorker,
  pruneObservations,
  workTimes,
} from "../../../api/db/observations.ts";
import { ownDatabase } from "../../support/database.ts";

const [first, second] = ["a", "b"].map((digit) => `0x${digit.repeat(40)}`) as [string, string];
const MODEL = 3;
const HOUR_MS = 3_600_000;
const NOW = Date.UTC(2026, 5, 10, 12, 30);

const { pool } = await ownDatabase();
afterAll(() => pool.end());
beforeEach(async () => void (await pool.query("DELETE FROM observation")));

/** Stores what is seen at that time. */
async function seen(at: number, see: (observations: Observations) => void): Promise<void> {
  const observations = new Observations();
  see(observations);
  await observations.store(pool, new Date(at));
}

describe("what gateways saw of a model", () => {
  it("is summed by the hour, from several gateways, and each worker has its line", async () => {
    for (const ms of [100, 300]) {
      await seen(NOW, (all) => {
        all.add(MODEL, ANY_WORKER, { requests: 1, firstTokens: 1, firstTokenMs: ms + 50, looks: 1, up: 1 });
        all.add(MODEL, first.toUpperCase().replace("X", "x"), { requests: 1, firstTokens: 1, firstTokenMs: ms });
        all.add(MODEL, first, { tokens: 30, tokenMs: 1_000, looks: 1, up: ms === 100 ? 1 : 0 });
      });
    }
    await seen(NOW - HOUR_MS, (all) => all.add(MODEL, second, { requests: 4, failures: 1 }));
    await seen(NOW - 24 * HOUR_MS, (all) => all.add(MODEL, second, { requests: 99 }));
    const { spans, workers } = await observedOfModel(pool, MODEL, "24h", NOW);
    expect(workers.map(({ worker }) => worker)).toEqual([second, first]);
    const [ofSecond, ofFirst] = workers.map(({ spans }) => spans);
    expect(spans).toHaveLength(24);
    expect(spans.at(-1)).toEqual({
      from: "2026-06-10T12:00:00.000Z",
      requests: 2,
      failures: 0,
      uptime: 1,
      first_token_ms: 250,
      tokens_per_second: null,
    });
    expect(ofFirst?.at(-1)).toMatchObject({ first_token_ms: 200, tokens_per_second: 30, uptime: 0.5 });
    expect(ofSecond?.at(-2)).toMatchObject({ requests: 4, failures: 1, uptime: null });
    expect(ofSecond?.reduce((sum, { requests }) => sum + requests, 0)).toBe(4);
  });

  it("is shown by six hours of a week and by the day of a month", async () => {
    await seen(NOW - 5 * HOUR_MS, (all) => all.add(MODEL, first, { requests: 1 }));
    await seen(NOW, (all) => all.add(MODEL, first, { requests: 2 }));
    const week = await observedOfWorker(pool, first, "7d", NOW);
    expect(week).toHaveLength(28);
    expect(week.slice(-2).map(({ from, requests }) => [from.slice(11, 13), requests])).toEqual([
      ["06", 1],
      ["12", 2],
    ]);
    const month = await observedOfWorker(pool, first, "30d", NOW);
    expect(month).toHaveLength(30);
    expect(month.at(-1)).toMatchObject({ from: "2026-06-10T00:00:00.000Z", requests: 3 });
  });

  it("is summed over all models that a worker served, as clients met them", async () => {
    await seen(NOW - HOUR_MS, (all) => {
      all.add(MODEL, ANY_WORKER, { requests: 3, failures: 1, looks: 4, up: 3 });
      all.add(MODEL, first, { requests: 9, looks: 4, up: 4 });
      all.add(7, ANY_WORKER, { requests: 1, looks: 4, up: 4 });
    });
    await seen(NOW, (all) => {
      all.add(MODEL, ANY_WORKER, { looks: 4, up: 4 });
      // Its worker has gone.
      all.add(7, ANY_WORKER, { looks: 4 });
      all.add(8, ANY_WORKER, { looks: 4 });
    });
    const spans = await observedOfService(pool, "24h", NOW);
    expect(spans.at(-2)).toMatchObject({ requests: 4, failures: 1, uptime: 7 / 8 });
    expect(spans.at(-1)).toMatchObject({ requests: 0, uptime: 0.5 });
    expect(spans.at(-3)).toMatchObject({ uptime: null });
  });

  it("is kept when it could not be stored, and stored once", async () => {
    const observations = new Observations();
    observations.add(MODEL, first, { requests: 1 });
    const away = { query: () => Promise.reject(new Error("no connection")) };
    await expect(observations.store(away as never, new Date(NOW))).rejects.toThrow("no connection");
    observations.add(MODEL, first, { requests: 1 });
    await observations.store(pool, new Date(NOW));
    await observations.store(pool, new Date(NOW));
    expect((await observedOfWorker(pool, first, "24h", NOW)).at(-1)).toMatchObject({ requests: 2 });
  });

  it("shows a model's failures as clients met them, and all workers' speed", async () => {
    await seen(Date.now(), (all) => {
      all.add(MODEL, ANY_WORKER, { requests: 4, failures: 1, firstTokens: 4, firstTokenMs: 1_200 });
      all.add(MODEL, first, { requests: 9, failures: 5, tokens: 100, tokenMs: 4_000 });
      all.add(MODEL, second, { tokens: 100, tokenMs: 1_000 });
    });
    expect((await observedModels(pool)()).get(MODEL)).toEqual({
      requests: 4,
      failures: 1,
      uptime: null,
      first_token_ms: 300,
      tokens_per_second: 40,
    });
  });

  it("is erased by the hour after eight days and by the day after 400", async () => {
    for (const days of [7, 9, 399, 402]) {
      await seen(Date.now() - days * 24 * HOUR_MS, (all) => all.add(MODEL, first, { requests: 1 }));
    }
    await pruneObservations(pool);
    const { rows } = await pool.query("SELECT span, count(*)::int AS rows FROM observation GROUP BY 1 ORDER BY 1");
    expect(rows).toEqual([
      { span: "day", rows: 3 },
      { span: "hour", rows: 1 },
    ]);
  });
});

describe("how long a worker worked in 24 hours", () => {
  const look = (up: number) => ({ looks: 4, up });

  it("counts of the running hour and of the oldest one what lies in the range", async () => {
    await seen(NOW, (all) => {
      all.add(MODEL, first, { ...look(4), firstTokenMs: 600_000, tokenMs: 300_000 });
      all.add(MODEL, second, look(2));
    });
    await seen(NOW - HOUR_MS, (all) => all.add(MODEL + 1, first, { ...look(1), tokenMs: HOUR_MS }));
    // Begins at 12:00 of the day before: half of it is older than 24 hours.
    await seen(NOW - 24 * HOUR_MS, (all) => all.add(MODEL, first, { ...look(4), tokenMs: HOUR_MS }));
    await seen(NOW - 25 * HOUR_MS, (all) => all.add(MODEL, first, { ...look(4), tokenMs: HOUR_MS }));
    const times = await workTimes(pool, () => NOW)();
    expect(times.get(first)).toEqual({ asked: 0.5 + 0.25 + 0.5, atWork: 0.25 + 1 + 0.5 });
    expect(times.get(second)).toEqual({ asked: 0.25, atWork: 0 });
  });

  it("says nothing of a worker, or of a model, that nobody looked at", async () => {
    await seen(NOW, (all) => {
      all.add(MODEL, ANY_WORKER, look(4));
      all.add(MODEL, first, { tokenMs: 36_000 });
    });
    expect([...(await workTimes(pool, () => NOW)())]).toEqual([[first, { asked: 0, atWork: 0.01 }]]);
  });
});
