/** A gateway on a slow chain answers while it takes up what an earlier process left, and takes no jobs before it has. */
import express from "express";
import { pino } from "pino";
import type { Hex } from "viem";
import { afterEach, expect, it, vi } from "vitest";
import { ApiError } from "../../../../api/errors.ts";
import { Metrics } from "../../../../api/observe/metrics.ts";
import { errorHandler } from "../../../../api/routes/errors.ts";
import { type HealthParts, healthRoutes } from "../../../../api/routes/health.ts";
import { fakeGateway, MODEL, registered } from "../../../support/fake-gateway.ts";
import { ask, readerOf } from "../../support/jobs.ts";
import { serve } from "../../support/serve.ts";

let queries = 0;

afterEach(() => void vi.useRealTimers());

async function health(
  path: string,
  recovered: boolean,
  alive: Hex[] = ["0x01"],
  others: Partial<HealthParts> = {},
): Promise<Response> {
  const gateway: HealthParts = {
    config: { BURST_PER_SECOND: 5, METRICS_TOKEN: undefined },
    directory: { models: () => [MODEL, { ...MODEL, number: 2 }] },
    workers: { hosts: () => alive.map((signer) => registered({ signer })) },
    metrics: new Metrics(),
    pool: readerOf(() => {
      queries++;
      return [];
    }),
    head: { isSilent: false },
    signerLock: { held: true },
    pipeline: { congested: false, unminedMs: 0 },
    phase: { recovered, accepting: true },
    ...others,
  };
  const url = await serve(
    express()
      .use(healthRoutes(gateway))
      .use(errorHandler("https://docs.test", pino({ level: "silent" }))),
  );
  return fetch(`${url}${path}`);
}

it("it is alive, and not ready", async () => {
  expect((await health("/healthz", false)).status).toBe(200);
  const reply = await health("/readyz", false);
  expect(reply.status).toBe(503);
  expect(await reply.json()).toMatchObject({ status: "not ready", checks: { recovery: false, settlement: true } });
  expect((await health("/readyz", true)).status).toBe(200);
});

it("says at once that it stops, however slow the database is", async () => {
  const stopping = {
    phase: { recovered: true, accepting: false },
    pool: { query: () => new Promise<never>(() => {}) },
  };
  const reply = await (await health("/readyz", true, [], stopping)).json();
  expect(reply).toMatchObject({ status: "not ready", checks: { accepting: false } });
  // It was not asked, so nothing was waited for.
  expect(reply).not.toHaveProperty("checks.database");
});

it("is not ready while something waits and nothing is mined", async () => {
  const standing = { pipeline: { congested: false, unminedMs: 60_000 } };
  const reply = await health("/readyz", true, [], standing);
  expect(reply.status).toBe(503);
  expect(await reply.json()).toMatchObject({ checks: { settlement: true, mining: false } });
});

it("says how many workers are alive, and is ready without any", async () => {
  expect(await (await health("/readyz", true, ["0x01", "0x02"])).json()).toMatchObject({ status: "ready", workers: 2 });
  const reply = await health("/readyz", true, []);
  expect(reply.status).toBe(200);
  expect(await reply.json()).toMatchObject({ status: "ready", workers: 0, notice: expect.stringMatching(/no worker/) });
});

it("asks the database once for many who ask at one moment, and turns a flood away", async () => {
  // One moment, however long the replies take.
  vi.useFakeTimers({ toFake: ["performance", "Date", "setInterval"] });
  queries = 0;
  const first = await health("/readyz", true);
  const replies = await Promise.all(Array.from({ length: 19 }, () => fetch(first.url)));
  expect(queries).toBe(1);
  const statuses = [first, ...replies].map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(5);
  expect(statuses.filter((status) => status === 429)).toHaveLength(15);
});

it("chat is answered with service_unavailable, and when to come back", async () => {
  const refused = ask(fakeGateway({}), {}, {}, { phase: { stopping: false, recovered: false } });
  const error = await refused.catch((failure) => failure);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ code: "service_unavailable", details: { retry_after: 5 } });
});
