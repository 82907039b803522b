/** A gateway on a slow chain answers while it takes up what an earlier process left, and takes no jobs before it has. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { afterEach, expect, it } from "vitest";
import { ApiError } from "../../api/errors.ts";
import type { Gateway } from "../../api/gateway.ts";
import { chatRoute } from "../../api/routes/chat.ts";
import { healthRoutes } from "../../api/routes/health.ts";

let server: Server | undefined;
afterEach(() => void server?.close());

async function health(path: string, takenUp: boolean): Promise<Response> {
  const gateway = {
    config: {},
    metrics: { registry: {} },
    pool: { query: async () => ({}) },
    head: { silentMs: 0 },
    signerLock: { held: true },
    pipeline: { congested: false },
    phase: { takenUp, accepting: true, stopping: false },
  };
  server = express()
    .use(healthRoutes(gateway as unknown as Gateway))
    .listen(0, "127.0.0.1");
  await once(server, "listening");
  return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
}

it("it is alive, and not ready", async () => {
  expect((await health("/healthz", false)).status).toBe(200);
  server?.close();
  const reply = await health("/readyz", false);
  expect(reply.status).toBe(503);
  expect(await reply.json()).toMatchObject({ status: "not ready", checks: { recovery: false, settlement: true } });
  server?.close();
  expect((await health("/readyz", true)).status).toBe(200);
});

it("chat is answered with service_unavailable, and when to come back", async () => {
  const model = { id: "m", number: 1, tier: "lite", contextWindow: 4_096, creditsPerRequest: 8, creditsPer1kTokens: 4 };
  const dependencies = {
    directory: { model: () => model },
    phase: { stopping: false, takenUp: false },
    jobs: { head: { silentMs: 0 } },
  };
  const request = {
    client: { wallet: "0x01" },
    headers: {},
    body: { model: "m", messages: [{ role: "user", content: "Hi" }] },
  };
  const refused = (chatRoute(dependencies as never) as (...parts: unknown[]) => Promise<void>)(request, {}, () => {});
  const error = await refused.catch((failure) => failure);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ code: "service_unavailable", details: { retry_after: 5 } });
});
