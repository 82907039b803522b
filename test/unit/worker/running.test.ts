/** `status` and `drain` ask the worker of their data folder, and no other. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { claimDataDir, runningWorker } from "../../../worker/cli/commands.ts";

const WORKER = "0x00000000000000000000000000000000000000Aa";
const health = {
  status: "ok",
  models: ["m"],
  abilities: { m: ["json_object"] },
  demo: false,
  in_flight: 1,
  queued: 0,
  capacity: 2,
  queue_capacity: 4,
  counting: { m: { by: "estimate", window: null } },
  unsettled: 3,
};

let dataDir: string;
let release: () => void;
let server: Server;
let answer: unknown;
const ask = () =>
  runningWorker({ dataDir, host: "0.0.0.0", port: (server.address() as AddressInfo).port }, WORKER as `0x${string}`);

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "running-"));
  release = claimDataDir(dataDir);
  server = createServer((_, response) => response.end(JSON.stringify(answer)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  release();
  rmSync(dataDir, { recursive: true });
});

it("tells what the worker says of itself", async () => {
  answer = { ...health, worker: WORKER.toLowerCase() };
  expect(await ask()).toEqual({ pid: process.pid, health: answer });
});

it.each([
  ["another worker", { ...health, worker: `0x${"11".repeat(20)}` }],
  ["another program", { hello: "world" }],
])("does not take the words of %s at its port for the worker's", async (_, words) => {
  answer = words;
  expect(await ask()).toEqual({ pid: process.pid, health: null });
});

it("asks nobody when none runs", async () => {
  answer = { ...health, worker: WORKER };
  release();
  expect(await ask()).toBeNull();
});
