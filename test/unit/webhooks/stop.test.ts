/** The stop of what runs by itself for webhooks does not wait for a database that has not answered. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type pg from "pg";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { Metrics } from "../../../api/observe/metrics.ts";
import { Cipher } from "../../../shared/cipher.ts";
import { WebhookService } from "../../../webhooks/service.ts";

it("ends while the listener's connection is being made", async () => {
  // Takes connections, never speaks, and closes when its client does.
  const database = createServer((socket) => socket.resume());
  onTestFinished(() => void database.close());
  const connected = once(database, "connection") as Promise<[Socket]>;
  await once(database.listen(0, "127.0.0.1"), "listening");
  const { port } = database.address() as AddressInfo;
  const away = () => Promise.reject(new Error("the database is away"));
  const pool = { query: away, connect: away } as unknown as pg.Pool;
  const block = { number: 0, timestamp: 0 };
  const head = { block, refresh: async () => block };
  const service = new WebhookService(
    { pool, head, metrics: new Metrics(), logger: pino({ level: "silent" }) },
    {
      databaseUrl: `postgres://nobody:nothing@127.0.0.1:${port}/nowhere`,
      cipher: new Cipher("11".repeat(32), "webhook secrets"),
      deployment: "",
      policy: { allowLocal: true },
      confirmations: 0,
      reorgDepth: 64,
      logDays: 30,
      concurrency: 1,
      perWallet: 1,
      timeoutMs: 1_000,
      delaysMs: [],
    },
  );
  const [socket] = await connected;
  const closed = once(socket, "close");
  await service.stop(1_000);
  await closed;
  expect(socket.destroyed).toBe(true);
}, 10_000);
