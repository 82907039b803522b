/**
 * Section `webhooks`.
 *
 * A gateway of the local stack delivers to a receiver on this machine. First events as the chain makes them: from the block to the endpoint. Then
 * the same beside a backlog of pending deliveries, some of them to endpoints that never answer. docs/webhooks.md shows a run.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { type Address, createPublicClient, createWalletClient, type Hex, http } from "viem";
import { generatePrivateKey, nonceManager, privateKeyToAccount } from "viem/accounts";
import { openDatabase } from "../api/db/pool.ts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import { receiptOf } from "../protocol/receipt.ts";
import { DEPLOYER_KEY } from "../scripts/deploy/config.ts";
import type { Stack } from "../scripts/dev/stack.ts";
import { OPERATOR, provideTokens } from "../scripts/dev/wallets.ts";
import { Cipher } from "../shared/cipher.ts";
import type { EventName } from "../webhooks/events.ts";
import { createWebhook } from "../webhooks/receivers.ts";
import { p50, percentile, progress, type Section } from "./report.ts";
import { residentMegabytes, startParts } from "./system.ts";

/** The backlog: pending deliveries, spread over so many webhooks. Beside them stand webhooks whose endpoints never answer, with as many each. */
const [DELIVERIES, WEBHOOKS, SILENT] = [20_000, 50, 5];
/** Events a second that the chain makes meanwhile. */
const RATE = 20;

/** Events from the block to the endpoint, alone and beside a backlog of pending deliveries; and how fast that is delivered. */
export async function webhooks(seconds: number): Promise<Section[]> {
  progress("starting chain, database, index and gateway");
  const gateway = await startGateway();
  const endpoint = await openEndpoint();
  try {
    const buyer = await openBuyer(gateway.stack, RATE * seconds * 4);
    await gateway.webhook(buyer.address, endpoint.url("/live"), ["credit.topup"]);
    const live: Section = { title: "From the block to the endpoint", rows: [] };

    const measure = async (name: string, until: Promise<unknown>): Promise<void> => {
      const mined = await buyer.buyUntil(until, RATE);
      await endpoint.waitFor(mined, 30_000);
      const ms = endpoint.latencies(mined);
      live.rows.push({
        while: name,
        events: mined.size,
        arrived: ms.length,
        "p50 ms": p50(ms),
        "p95 ms": percentile(ms, 0.95),
        "max ms": percentile(ms, 1),
        "blocks behind at the end": await gateway.lag(),
      });
    };

    progress(`${RATE} events a second for ${seconds} s`);
    await measure("nothing else is pending", sleep(seconds * 1_000));

    progress(`${DELIVERIES} pending deliveries to ${WEBHOOKS} webhooks, ${SILENT} more never answer`);
    const due = await fillBacklog(gateway, endpoint);
    const begin = performance.now();
    await gateway.pool.query(
      "UPDATE webhook_delivery SET next_attempt_at = now() WHERE status = 'pending' AND next_attempt_at > now() + interval '30 minutes'",
    );
    const drained = endpoint.drained(due).then(() => (performance.now() - begin) / 1000);
    await measure(`${DELIVERIES} are pending`, drained);
    const took = await drained;
    const backlog = {
      pending: DELIVERIES,
      webhooks: WEBHOOKS,
      "silent ones": SILENT,
      "drained in s": took,
      "deliveries/s": DELIVERIES / took,
      "gateway's memory MB": gateway.memory(),
    };
    return [live, { title: "A backlog", rows: [backlog] }];
  } finally {
    endpoint.close();
    await gateway.stop();
  }
}

const MASTER_KEY = "b3".repeat(32);

/** Chain, database, index and one gateway, with the gateway's usual settings for webhooks. */
async function startGateway() {
  const { stack, stop } = await startParts({
    parts: ["chain", "database", "contracts", "indexer", "api"],
    workers: [],
    env: { api: { MASTER_KEY, LOG_LEVEL: "error" } },
  });
  const logger = pino({ level: "silent" });
  const pool = openDatabase(stack.info.database_url as string, logger, 4);
  pool.on("error", () => {}); // it stops before the pool does
  const context = {
    pool,
    cipher: new Cipher(MASTER_KEY, "webhook secrets"),
    policy: { allowLocal: true },
    head: { block: { number: 0, timestamp: 0 }, refresh: async () => ({ number: 0, timestamp: 0 }) },
    logger,
    unpaid: async () => 0,
    wake: () => {},
  };
  return {
    stack,
    pool,
    webhook: (wallet: string, url: string, events: EventName[]) => createWebhook(context, wallet, { url, events }),
    /** Blocks whose events are not derived. */
    lag: async (): Promise<number> => {
      const text = await (await fetch(`${stack.info.base_url}/metrics`)).text();
      return Number(/^gateway_webhook_lag_blocks (\S+)$/m.exec(text)?.[1]);
    },
    memory: () => residentMegabytes(stack.processes().find(({ name }) => name === "api")?.pid ?? 0),
    stop: async (): Promise<void> => {
      await pool.end();
      await stop();
    },
  };
}
type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** Deliveries that are due all at once, as after an outage of many receivers. Written as due in an hour; returns how many can be delivered. */
async function fillBacklog({ pool, webhook }: Gateway, endpoint: Endpoint): Promise<number> {
  const each = Math.ceil(DELIVERIES / WEBHOOKS);
  const ids: string[] = [];
  for (let number = 0; number < WEBHOOKS + SILENT; number += 1) {
    const path = number < WEBHOOKS ? `/backlog/${number}` : `/silent/${number}`;
    const wallet = `0x${number.toString(16).padStart(40, "0")}`;
    ids.push((await webhook(wallet, endpoint.url(path), ["job.completed"])).id);
  }
  await pool.query(
    `INSERT INTO webhook_event (id, name, occurred_at, body)
     SELECT 'evt_' || md5(n::text), 'job.completed', now(), '{"event":"job.completed","data":"' || repeat('x', 600) || '"}'
     FROM generate_series(1, $1::int) n`,
    [each],
  );
  await pool.query(
    `INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at)
     SELECT w.id, e.id, 'pending', now() + interval '1 hour' FROM unnest($1::text[]) w (id) CROSS JOIN webhook_event e
     WHERE e.name = 'job.completed' ORDER BY e.id`,
    [ids],
  );
  await pool.query("ANALYZE webhook_delivery, webhook_event, webhook");
  return each * WEBHOOKS;
}

/** When the block of each transaction was there. */
type Mined = ReadonlyMap<Hex, number>;

/** A receiver that answers at once (or never, below `/silent`), and remembers when which transaction's event came. */
async function openEndpoint() {
  const arrivals = new Map<string, number>();
  /** Requests below `/backlog`. */
  let backlog = 0;
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    let body = "";
    request.on("data", (data) => {
      body += data;
    });
    request.on("end", () => {
      if (path.startsWith("/silent")) return;
      if (path.startsWith("/backlog")) backlog += 1;
      else {
        const { topup_tx: transaction } = JSON.parse(body).data;
        if (!arrivals.has(transaction)) arrivals.set(transaction, performance.now());
      }
      response.end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: (path: string): string => `http://127.0.0.1:${port}${path}`,
    /** Waits until the events of all transactions have come, at most `ms`. */
    waitFor: async (mined: Mined, ms: number): Promise<void> => {
      for (const end = Date.now() + ms; Date.now() < end; ) {
        if ([...mined.keys()].every((hash) => arrivals.has(hash))) return;
        await sleep(50);
      }
    },
    /** Resolves when so many deliveries of the backlog have come. */
    drained: async (deliveries: number): Promise<void> => {
      while (backlog < deliveries) await sleep(20);
    },
    /** Milliseconds from each transaction's block to the arrival of its event. */
    latencies: (mined: Mined): number[] =>
      [...mined].flatMap(([hash, at]) => (arrivals.get(hash) ?? Number.NaN) - at).filter(Number.isFinite),
    close: (): void => {
      server.closeAllConnections();
      server.close();
    },
  };
}
type Endpoint = Awaited<ReturnType<typeof openEndpoint>>;

const CREDITS = 100;

/** A wallet that buys credits again and again: each purchase is an event. `purchases`: the most it will make. */
async function openBuyer(stack: Stack, purchases: number) {
  const transport = http(stack.info.rpc_url);
  const client = createPublicClient({ transport });
  const owner = privateKeyToAccount(generatePrivateKey(), { nonceManager });
  const wallet = createWalletClient({ account: owner, transport });
  const funder = privateKeyToAccount(DEPLOYER_KEY);
  await provideTokens(stack.info, { funder, owner, credits: purchases * CREDITS });

  const escrow = stack.info.contracts["InferenceEscrow"] as Address;
  const args = [CREDITS, OPERATOR] as const;
  const deposit = { address: escrow, abi: inferenceEscrowAbi, functionName: "deposit", args } as const;
  const buy = async (): Promise<Hex> => {
    const hash = await wallet.writeContract({ ...deposit, chain: null, gas: 300_000n });
    const { status } = await receiptOf(client, hash, { interval: 5 });
    if (status !== "success") throw new Error(`transaction ${hash} reverted`);
    return hash;
  };
  /** Buys `rate` times a second until `end` settles. */
  const buyUntil = async (end: Promise<unknown>, rate: number): Promise<Mined> => {
    const bought = new Map<Hex, number>();
    const open: Promise<unknown>[] = [];
    let over = false;
    const stop = () => {
      over = true;
    };
    end.then(stop, stop);
    for (let next = performance.now(); !over; next += 1_000 / rate) {
      const wait = next - performance.now();
      if (wait > 0) await sleep(wait);
      open.push(buy().then((hash) => bought.set(hash, performance.now())));
    }
    await Promise.all(open);
    return bought;
  };
  return { address: owner.address, buyUntil };
}
