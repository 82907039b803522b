import type { Abi } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { getAccount, getJob, listEvents, listJobEvents, listWalletEvents } from "../../api/index/index.ts";
import * as abis from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { chainEvents } from "./support/chain-events.ts";
import { everything, type Story } from "./support/everything.ts";
import { Stage } from "./support/stage.ts";

let stage: Stage;
let story: Story;

beforeAll(async () => {
  stage = await Stage.open();
  // Indexed from the past, all but the last 30 blocks; story.test.ts sees the same live.
  story = await everything(stage.world);
  await stage.startIndexer();
  await stage.caughtUp();
});
afterAll(async () => await stage?.close());

const job = async (name: keyof Story) => {
  const row = await getJob(stage.pool, toApiJobId(story[name]));
  if (row === null) throw new Error(`${name} is not indexed`);
  return row;
};
const kindsOf = async (name: keyof Story) => (await listJobEvents(stage.pool, story[name])).map((event) => event.kind);

test("the story makes every event of the contracts happen", async () => {
  const contracts = [
    abis.inferenceEscrowAbi,
    abis.modelCatalogAbi,
    abis.workerRegistryAbi,
    abis.protocolTreasuryAbi,
    abis.arbitrationPanelAbi,
  ];
  const declared = contracts.flatMap((abi) =>
    (abi as Abi).flatMap((item) => (item.type === "event" ? [item.name] : [])),
  );
  const seen = new Set((await chainEvents(stage.world)).map((event) => event.name));
  // OpenZeppelin declares this one for domains that change; ours never does.
  const missing = declared.filter((name) => !seen.has(name) && name !== "EIP712DomainChanged");
  expect(missing).toEqual([]);
});

test("each event of the chain has one row, in its place", async () => {
  const onChain = await chainEvents(stage.world);
  const rows = await listEvents(stage.pool, { after: -1, toBlock: 1e9, limit: 10_000 });
  const failures = await stage.sql<{ position: string }>("SELECT position FROM index.batch_item_failure");
  const indexed = [...rows.map((row) => row.position), ...failures.map((row) => Number(row.position))];
  expect(indexed.sort((a, b) => a - b)).toEqual(onChain.map((event) => event.position).sort((a, b) => a - b));
  expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length);
  const hashes = new Map(onChain.map((event) => [event.position, event.txHash]));
  for (const row of rows) expect(row.txHash).toBe(hashes.get(row.position));
});

test("a job settled from pending has its worker from its settlement, which says so", async () => {
  expect(await kindsOf("fused")).toEqual(["job.locked", "job.settled"]);
  const row = await job("fused");
  expect(row).toMatchObject({
    status: "settled",
    operator: 1,
    wallet: stage.world.client.address.toLowerCase(),
    model: "qwen3-8b",
    tier: "standard",
    creditsLocked: 8,
    creditsCharged: 8,
    creditsReturned: 0,
    worker: stage.world.worker.address.toLowerCase(),
    attempt: 1,
    promptTokens: 10,
    completionTokens: 120,
    billedTokens: 120,
    workerUnits: 72_000,
    feeUnits: 8_000,
    failureReason: null,
    acknowledgeTx: row.settlementTx,
    acknowledgedAt: row.completedAt,
  });
  expect(row.answeredAt).toBeLessThanOrEqual(row.completedAt ?? 0);
  const receipt = await stage.world.reader.getTransactionReceipt({ hash: row.settlementTx ?? "0x" });
  expect(row.settlementBlock).toBe(Number(receipt.blockNumber));
  const block = await stage.world.reader.getBlock({ blockNumber: receipt.blockNumber });
  expect(row.completedAt).toBe(Number(block.timestamp));
  const [locked, settled] = await listJobEvents(stage.pool, story.fused);
  expect(locked?.data).toMatchObject({
    account: 1,
    operator: 1,
    credits_per_request: 8,
    credits_per_1k_tokens: 4,
    fee_bps: 1_000,
    free: 5_142,
    escrowed: 8,
  });
  expect(Object.keys(locked?.data ?? {})).not.toContain("job");
  expect(settled?.data).toMatchObject({
    job_id: toApiJobId(story.fused),
    model: "qwen3-8b",
    tier: "standard",
    credits_charged: 8,
    usdg_value: 0.08,
    prompt_tokens: 10,
    completion_tokens: 120,
    worker_units: 72_000,
    fee_units: 8_000,
    credits_returned: 0,
    account: 1,
    free: 5_142,
    escrowed: 0,
    attempt: 1,
    fused: true,
    completed_at: row.answeredAt,
  });
  const { signature } = await stage.world.completion(story.fused);
  expect(settled?.data).toMatchObject(signature);
  expect(settled?.data["proof_hash"]).toBe(`sha256:${row.proofHash?.slice(2)}`);
});

test("the slow path, a failure, a refund, a second worker and an open job are told apart", async () => {
  expect(await kindsOf("slow")).toEqual(["job.locked", "job.acknowledged", "job.proven", "job.settled"]);
  expect(await job("slow")).toMatchObject({ status: "settled", creditsCharged: 8 });
  expect((await listJobEvents(stage.pool, story.slow)).at(-1)?.data).toMatchObject({ fused: false, attempt: 1 });
  expect(await job("failed")).toMatchObject({
    status: "failed",
    failureReason: "worker_failed",
    creditsCharged: 0,
    creditsReturned: 8,
    settlementTx: null,
  });
  expect((await job("failed")).returnTx).not.toBeNull();
  expect(await job("refunded")).toMatchObject({ status: "refunded", creditsCharged: 0, creditsReturned: 8 });
  expect(await job("reassigned")).toMatchObject({ status: "settled", attempt: 3 });
  expect(await kindsOf("reassigned")).toEqual(["job.locked", "job.acknowledged", "job.acknowledged", "job.settled"]);
  expect(await job("open")).toMatchObject({ status: "pending", worker: null, creditsCharged: 0, completedAt: null });
});

test("an authorized job has its key and the hash of its request", async () => {
  expect(await kindsOf("authorized")).toEqual(["job.locked", "job.authorized", "job.settled"]);
  const [, authorized] = await listJobEvents(stage.pool, story.authorized);
  const [row] = await stage.sql("SELECT authorization_key, request_hash FROM index.job WHERE id = $1", [
    story.authorized,
  ]);
  expect(row).toEqual({ authorization_key: authorized?.data["key"], request_hash: authorized?.data["request_hash"] });
  expect(authorized).toMatchObject({ subject: story.authorized, data: { job_id: toApiJobId(story.authorized) } });
});

test("balances are the chain's", async () => {
  const { world, pool } = stage;
  const account = await getAccount(pool, world.client.address);
  const onChain = await world.read<{ id: number; free: number; escrowed: number; sequence: number; operator: number }>(
    "InferenceEscrow",
    "accountOf",
    world.client.address,
  );
  expect(account).toMatchObject({
    number: onChain.id,
    free: onChain.free,
    escrowed: onChain.escrowed,
    sequence: onChain.sequence,
    operator: onChain.operator,
  });
  expect(account).toMatchObject({ operator: 1, deposited: 5_200, withdrawn: 50, charged: 112 });
  const [newest] = await listWalletEvents(pool, { wallet: world.client.address, limit: 1 });
  expect(newest?.kind).toBe("job.arbiter_voted");
  expect(await getAccount(pool, world.gateway.address)).toBeNull();
});

test("refused payouts are kept apart from their claims", async () => {
  const rows = await stage.sql("SELECT kind, payee, receiver, units, job_id FROM index.payout ORDER BY position");
  const { world } = stage;
  const worker = world.workerOwner.address.toLowerCase();
  const client = world.client.address.toLowerCase();
  const treasury = world.deployment.contracts.ProtocolTreasury.toLowerCase();
  const deferred = (payee: string, units: number, job_id: string | null) => ({
    kind: "deferred",
    payee,
    receiver: null,
    units: String(units),
    job_id,
  });
  expect(rows).toEqual([
    deferred(worker, 72_000, story.deferred),
    deferred(treasury, 8_000, story.deferred),
    deferred(worker, 72_000, story.batchedFirst),
    deferred(worker, 72_000, story.batchedSecond),
    // The treasury's share of the whole batch.
    deferred(treasury, 16_000, null),
    { kind: "claimed", payee: worker, receiver: worker, units: "216000", job_id: null },
    // What compensations leave over whole credits.
    deferred(client, 8_000, story.equivocatedDisputed),
    deferred(client, 2_000, story.equivocatedDisputed),
    deferred(client, 8_000, story.expired),
    deferred(client, 8_000, story.equivocatedSettled),
    deferred(client, 2_000, story.equivocatedSettled),
    { kind: "claimed", payee: client, receiver: world.owner.address.toLowerCase(), units: "28000", job_id: null },
  ]);
  const failures = await stage.sql("SELECT call, error, item FROM index.batch_item_failure");
  expect(failures).toEqual([{ call: "refund", error: "Job_TooEarly", item: 1 }]);
});
