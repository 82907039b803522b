/** The page of workers is open to everyone and read on the connections that jobs need. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { afterEach, expect, it } from "vitest";
import { webApp } from "../../api/routes/web.ts";

const signer = (n: number) => `0x${String(n).repeat(40)}`;
const worker = (n: number) => ({
  signer: signer(n),
  number: n,
  owner: signer(n),
  payout: signer(n),
  endpoint: `https://${n}.example.com`,
  stake: "5",
  unbondsAt: null,
  active: true,
  models: [],
  registeredAt: 1_700_000_000,
});
const slash = (n: number) => ({
  jobId: "job_1",
  worker: signer(n),
  amount: String(n),
  stake: "0",
  reason: "equivocation",
  position: n,
  blockTime: 1_700_000_000,
  txHash: "0x",
});

const unasked = () => expect.unreachable();

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Asks a web application whose database answers from `rows`, by name of the statement; and which statements it was asked. */
async function ask(path: string, rows: Record<string, unknown[]>) {
  const asked: string[] = [];
  const query = async ({ name }: { name: string }) => {
    asked.push(name);
    return { rows: rows[name] ?? [] };
  };
  const gateway = {
    config: {
      APP_URL: "http://127.0.0.1/app",
      BURST_PER_SECOND: 300,
      MASTER_KEY: "44".repeat(32),
      OTHER_MASTER_KEYS: [],
    },
    pool: { query },
    operator: { id: 1 },
    webhooks: { context: {} },
    chat: { jobs: { times: {} } },
    workers: { hosts: () => [], states: () => [] },
    output: unasked,
    dispute: unasked,
  };
  const deployment = { chainId: 1, contracts: {} };
  server = express()
    .use(webApp({ ...gateway, config: { ...gateway.config, deployment } } as never))
    .listen(0, "127.0.0.1");
  await once(server, "listening");
  const reply = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
  return { reply, asked };
}

it("asks the database as often for three workers as for one, and gives each what is its own", async () => {
  const one = await ask("/app/api/workers", { index_workers: [worker(1)] });
  expect(one.reply.status).toBe(200);
  server?.close();
  const rows = { index_workers: [1, 2, 3].map(worker), index_slashes: [slash(3), slash(1)] };
  const three = await ask("/app/api/workers", rows);
  expect(three.asked).toEqual(one.asked);
  const { data } = (await three.reply.json()) as { data: { number: number; slashes: { amount: string }[] }[] };
  expect(data.map(({ number, slashes }) => [number, slashes.map(({ amount }) => amount)])).toEqual([
    [1, ["1"]],
    [2, []],
    [3, ["3"]],
  ]);
});

it.each(["workers", "models"])("allows one address 50 readings of /%s a second", async (path) => {
  const { reply } = await ask(`/app/api/${path}`, {});
  expect(reply.headers.get("ratelimit-policy")).toContain("q=50; w=1");
});
