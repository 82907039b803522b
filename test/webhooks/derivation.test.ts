/** Which events the chain makes, whatever becomes of blocks, index and gateways. Real chain, index, database and HTTP. */
import { pino } from "pino";
import type { Address } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../api/db/pool.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { pruneLog } from "../../webhooks/delivery-log.ts";
import { EVENT_NAMES, type EventName, envelopeSchema } from "../../webhooks/events.ts";
import { everything } from "../indexer/support/everything.ts";
import type { Indexer } from "../indexer/support/indexer.ts";
import { Stage } from "../indexer/support/stage.ts";
import { eventually } from "../support/api-client.ts";
import { Receiver } from "../support/receiver.ts";
import { Webhooks } from "../support/webhook-service.ts";

let stage: Stage;
let protocol: Stage["world"];
let indexer: Indexer;
let webhooks: Webhooks;
let receiver: Receiver;
let client: Address;

beforeAll(async () => {
  stage = await Stage.open();
  protocol = stage.world;
  client = protocol.client.address;
  indexer = await stage.startIndexer();
  webhooks = await Webhooks.start(stage);
  receiver = await Receiver.open();
});
afterAll(async () => {
  receiver?.close();
  await webhooks?.stop();
  await stage?.close();
});

/** Ids of the events that came to a path. */
function ids(path: string): string[] {
  return receiver.to(path).map(({ event }) => event.id);
}

/** Waits until everything the index has is derived and sent, replaced blocks included. */
async function quiet(): Promise<void> {
  await stage.agreed();
  const head = Number(await stage.chain.rpc("eth_blockNumber"));
  await eventually(
    () => webhooks.sql<{ block: number }>("SELECT block FROM webhook_watermark"),
    ([row]) => row !== undefined && row.block >= head,
  );
  await sent();
}

/** Waits until what the index has now, as far as it is confirmed, is derived and sent. */
async function sent(): Promise<void> {
  await webhooks.derived();
  await eventually(
    () =>
      webhooks.sql<{ pending: number }>("SELECT count(*) AS pending FROM webhook_delivery WHERE status = 'pending'"),
    ([row]) => row?.pending === 0,
  );
}

describe("a chain on which everything happens", () => {
  it("makes every event, each once, each as its schema says", async () => {
    await webhooks.webhook(client, receiver.url("/all"), EVENT_NAMES);
    const story = await everything(protocol);
    const free = await protocol.read<{ free: number }>("InferenceEscrow", "accountOf", client);
    await protocol.send(protocol.client, protocol.call("InferenceEscrow", "withdraw", free.free - 50, client));
    await quiet();
    const received = receiver.to("/all");
    expect(new Set(received.map(({ event }) => event.event))).toEqual(new Set(EVENT_NAMES));
    expect(new Set(ids("/all")).size).toBe(received.length);
    for (const { event } of received) envelopeSchema(event.event).parse(event);

    // As many as the index has rows for.
    const rows = await stage.sql<{ kind: string; count: string }>(
      "SELECT kind, count(*) FROM index.protocol_event GROUP BY kind",
    );
    const of = (kind: string) => Number(rows.find((row) => row.kind === kind)?.count ?? 0);
    const got = (name: EventName) => received.filter(({ event }) => event.event === name).length;
    expect(got("job.submitted")).toBe(of("job.locked"));
    const [{ count: fused = 0 } = {}] = await stage.sql<{ count: string }>(
      "SELECT count(*) FROM index.protocol_event WHERE kind = 'job.settled' AND (data->>'fused')::boolean",
    );
    expect(Number(fused)).toBeGreaterThan(0);
    expect(got("job.processing")).toBe(of("job.acknowledged") + Number(fused));
    expect(got("job.completed")).toBe(of("job.settled"));
    expect(got("job.disputed")).toBe(of("job.disputed"));
    expect(got("job.failed") + got("job.timeout")).toBe(of("job.failed") + of("job.refunded"));
    expect(got("worker.registered")).toBe(of("worker.registered"));
    expect(got("worker.slashed")).toBe(of("worker.slashed"));

    const about = (name: EventName, job: `0x${string}`) =>
      received.filter(({ event }) => event.event === name && event.data.job_id === toApiJobId(job));
    expect(about("job.timeout", story.refunded)).toHaveLength(1);
    expect(about("job.failed", story.refunded)).toHaveLength(0);
    expect(about("job.failed", story.failed)[0]?.event.data.reason).toBe("worker_failed");
    expect(about("job.processing", story.reassigned).map(({ event }) => event.data.attempt)).toEqual([1, 3]);
    // The first settled job had no acknowledgement of its own: its settlement is both, and the worker's taking it is told first.
    const [processing] = about("job.processing", story.fused);
    const [completed] = about("job.completed", story.fused);
    expect(processing?.event.data).toMatchObject({
      attempt: 1,
      acknowledge_tx: completed?.event.data.settlement_tx,
      worker_address: completed?.event.data.worker_address,
    });
    const order = await webhooks.sql<{ name: string }>(
      `SELECT e.name FROM webhook_delivery d JOIN webhook_event e ON e.id = d.event_id
       WHERE e.id = ANY ($1) ORDER BY d.id`,
      [[processing?.event.id, completed?.event.id]],
    );
    expect(order.map(({ name }) => name)).toEqual(["job.processing", "job.completed"]);
    // What operator and treasury give back is money that comes in, like a deposit.
    const topups = received.filter(({ event }) => event.event === "credit.topup").map(({ event }) => event.data);
    expect(new Set(topups.map(({ source }) => source))).toEqual(new Set(["deposit", "compensation"]));
    expect(topups.filter(({ source }) => source === "deposit")).toHaveLength(of("account.deposited"));
  });
});

describe("a reorganisation", () => {
  it("that mines the same transactions elsewhere loses no event and makes none twice", async () => {
    await webhooks.webhook(client, receiver.url("/moved"), ["credit.topup", "job.submitted", "job.completed"]);
    for (let i = 0; i < 4; i += 1) {
      await protocol.deposit(100);
      await protocol.settledJob();
    }
    await stage.caughtUp();
    // Twenty blocks with a transaction each: the last twelve become one block that holds all of them, and eleven empty ones.
    const raw = await stage.lastTransactions(12);
    await stage.chain.rpc("anvil_reorg", [12, raw.map((transaction) => [transaction, 10])]);
    await quiet();
    await protocol.deposit(100);
    await quiet();
    expect(receiver.names("/moved").toSorted()).toEqual([
      ...Array(5).fill("credit.topup"),
      ...Array(4).fill("job.completed"),
      ...Array(4).fill("job.submitted"),
    ]);
    expect(new Set(ids("/moved")).size).toBe(13);
  });

  it("that drops a transaction, which is mined again later, tells of it once", async () => {
    await webhooks.webhook(client, receiver.url("/dropped"), ["credit.topup"]);
    await protocol.deposit(100);
    const [deposit] = (await stage.lastTransactions(1)) as [`0x${string}`];
    await stage.chain.rpc("anvil_reorg", [1, []]);
    await quiet();
    const before = ids("/dropped");
    expect(before.length).toBeLessThanOrEqual(1); // sent already, or dropped before anyone saw it
    await stage.mineAgain([deposit]);
    await quiet();
    expect(ids("/dropped")).toHaveLength(1);
    if (before.length === 1) expect(ids("/dropped")).toEqual(before);
  });

  it("of a chain with confirmations is over before anyone is told", async () => {
    await webhooks.stop();
    webhooks = await Webhooks.start(stage, { confirmations: 3 });
    await webhooks.webhook(client, receiver.url("/careful"), ["credit.topup"]);
    await protocol.deposit(100);
    await stage.chain.rpc("anvil_mine", ["0x2"]);
    await stage.caughtUp();
    await sent();
    expect(ids("/careful")).toEqual([]);
    const deposit = await stage.lastTransactions(3);
    await stage.chain.rpc("anvil_reorg", [3, []]);
    await stage.chain.rpc("anvil_mine", ["0x4"]);
    await stage.caughtUp();
    await sent();
    expect(ids("/careful")).toEqual([]);
    // Mined again, and this time for good.
    await stage.mineAgain(deposit);
    await stage.chain.rpc("anvil_mine", ["0x3"]);
    await eventually(
      async () => ids("/careful"),
      (all) => all.length === 1,
    );
    await webhooks.stop();
    webhooks = await Webhooks.start(stage);
  });
});

it("a quiet chain makes no event again that the log has pruned, and every new one", async () => {
  await webhooks.stop();
  // This chain's clock runs days ahead of ours: here each of its blocks is older than the log.
  webhooks = await Webhooks.start(stage, { logDays: -30 });
  await webhooks.webhook(client, receiver.url("/quiet"), ["credit.topup"]);
  await protocol.deposit(100);
  await quiet();
  expect(ids("/quiet")).toHaveLength(1);
  await pruneLog(webhooks.pool, 0);
  await sent();
  expect(ids("/quiet")).toHaveLength(1);
  await protocol.deposit(100);
  await quiet();
  expect(ids("/quiet")).toHaveLength(2);
  await webhooks.stop();
  webhooks = await Webhooks.start(stage);
});

it("an index built anew from nothing delivers no old event again, and every new one", async () => {
  await webhooks.webhook(client, receiver.url("/rebuilt"), EVENT_NAMES);
  await protocol.deposit(100);
  await quiet();
  const received = receiver.received.length;
  const rows = await webhooks.sql("SELECT count(*) FROM webhook_delivery");
  await indexer.stop();
  await stage.dropIndex();
  await protocol.deposit(100); // while there is no index
  indexer = await stage.startIndexer();
  await stage.caughtUp();
  await quiet();
  const fresh = receiver.received.slice(received);
  // One new deposit, to each webhook that names it and still exists.
  expect(new Set(fresh.map(({ event }) => event.id)).size).toBe(1);
  expect(new Set(fresh.map(({ path }) => path)).size).toBe(fresh.length);
  const after = await webhooks.sql("SELECT count(*) FROM webhook_delivery");
  expect(Number(after[0]?.["count"])).toBe(Number(rows[0]?.["count"]) + fresh.length);
});

it("several gateways at once make each delivery once and send it once", async () => {
  const others = [await Webhooks.start(stage), await Webhooks.start(stage)];
  try {
    const { id } = await webhooks.webhook(client, receiver.url("/shared"), ["credit.topup"]);
    const { InferenceEscrow } = protocol.deployment.contracts;
    await protocol.send(protocol.client, protocol.call("Stablecoin", "mint", client, 40_000_000n));
    await protocol.send(protocol.client, protocol.call("Stablecoin", "approve", InferenceEscrow, 40_000_000n));
    for (let i = 0; i < 40; i += 1)
      await protocol.send(protocol.client, protocol.call("InferenceEscrow", "deposit", 100, 1));
    await eventually(
      async () => ids("/shared"),
      ({ length }) => length >= 40,
    );
    await quiet();
    expect(ids("/shared")).toHaveLength(40);
    expect(new Set(ids("/shared")).size).toBe(40);
    const attempts = await webhooks.sql<{ count: number }>(
      "SELECT count(*) FROM webhook_attempt a JOIN webhook_delivery d ON d.id = a.delivery_id WHERE d.webhook_id = $1",
      [id],
    );
    expect(attempts[0]?.count).toBe(40);
  } finally {
    for (const other of others) await other.stop();
  }
});

it("a pass reads only the webhooks of wallets that its rows concern", async () => {
  // What is public, such as a new worker, goes to everybody: those blocks are not read again.
  await stage.chain.rpc("anvil_mine", ["0x50"]);
  const crowd = 3_000;
  await webhooks.sql(
    `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time)
     SELECT 'wh_crowd' || n, '0xcrowd' || n, '', $2, '', $3, $3, $3, $3 FROM generate_series(1, $1::int) n`,
    // As of a block that never comes: they get nothing.
    [crowd, EVENT_NAMES, 2 ** 40],
  );
  await webhooks.sql("ANALYZE webhook");
  await quiet();
  const pool = openDatabase(stage.databaseUrl, pino({ level: "silent" }), 1);
  const rowsRead = async () => {
    await pool.query("SELECT pg_stat_force_next_flush()");
    const { rows } = await pool.query<{ read: number }>(
      `SELECT seq_tup_read + COALESCE(idx_tup_fetch, 0) AS read FROM pg_stat_user_tables WHERE relname = 'webhook'`,
    );
    return Number(rows[0]?.read);
  };
  try {
    await webhooks.webhook(client, receiver.url("/among-many"), ["credit.topup"]);
    const before = await rowsRead();
    const passes = 8;
    for (let n = 0; n < passes; n++) {
      await protocol.deposit(100);
      await quiet();
    }
    expect(ids("/among-many")).toHaveLength(passes);
    // Connections tell late what they read: that can be a pass from before the first deposit.
    expect((await rowsRead()) - before).toBeLessThan((passes - 1) * crowd);
  } finally {
    await pool.end();
    await webhooks.sql("DELETE FROM webhook WHERE wallet LIKE '0xcrowd%'");
  }
});

it("tells a wallet without credits public events at its oldest webhook alone", async () => {
  const free = privateKeyToAccount(generatePrivateKey()).address;
  const webhook = (wallet: Address, path: string) =>
    webhooks.webhook(wallet, receiver.url(path), ["worker.registered"]);
  await protocol.deposit(100);
  await quiet();
  await webhook(free, "/free/1");
  for (const path of ["/free/2", "/free/3"]) {
    // As of a wallet that had credits then, and withdrew them.
    const { id } = await webhook(client, path);
    await webhooks.sql("UPDATE webhook SET wallet = $2 WHERE id = $1", [id, free.toLowerCase()]);
  }
  for (const path of ["/paying/1", "/paying/2"]) await webhook(client, path);
  await protocol.register([5], privateKeyToAccount(generatePrivateKey()));
  await quiet();
  const told = ["/free/1", "/free/2", "/free/3", "/paying/1", "/paying/2"].filter((path) => ids(path).length > 0);
  expect(told).toEqual(["/free/1", "/paying/1", "/paying/2"]);
});

it("tells nobody of a worker that registers without a stake", async () => {
  await protocol.deposit(100);
  await webhooks.webhook(client, receiver.url("/registered"), ["worker.registered"]);
  const stranger = privateKeyToAccount(generatePrivateKey());
  const worker = privateKeyToAccount(generatePrivateKey());
  await protocol.register([5], stranger, 0n);
  await protocol.register([5], worker);
  await quiet();
  const told = receiver.to("/registered").map(({ event }) => event.data.worker_address);
  expect(told).toEqual([worker.address]);
});
