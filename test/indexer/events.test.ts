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

test("a job settled in one call is acknowledged and settled", async () => {
  expect(await kindsOf("fused")).toEqual(["job.locked", "job.acknowledged", "job.settled"]);
  const row = await job("fused");
  expect(row).toMatchObject({
    status: "settled",
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
    answeredAt: null,
  });
  const receipt = await stage.world.reader.getTransactionReceipt({ hash: row.settlementTx ?? "0x" });
  expect(row.settlementBlock).toBe(Number(receipt.blockNumber));
  const block = await stage.world.reader.getBlock({ blockNumber: receipt.blockNumber });
  expect(row.completedAt).toBe(Number(block.timestamp));
  const settled = (await listJobEvents(stage.pool, story.fused)).at(-1);
  expect(settled?.data).toMatchObject({
    job_id: toApiJobId(story.fused),
    model: "qwen3-8b",
    tier: "standard",
    credits_charged: 8,
    usdg_value: 0.08,
    prompt_tokens: 10,
    completion_tokens: 120,
    worker_units: "72000",
  });
  expect(settled?.data["proof_hash"]).toBe(`sha256:${row.proofHash?.slice(2)}`);
});

test("the slow path, a failure, a refund, a second worker and an open job are told apart", async () => {
  expect(await kindsOf("slow")).toEqual(["job.locked", "job.acknowledged", "job.proven", "job.settled"]);
  expect(await job("slow")).toMatchObject({ status: "settled", creditsCharged: 8 });
  expect((await job("slow")).answeredAt).not.toBeNull();
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

test("balances are the chain's", async () => {
  const { world, pool } = stage;
  const account = await getAccount(pool, world.client.address);
  const onChain = await world.read<{ id: number; free: number; escrowed: number; sequence: number }>(
    "InferenceEscrow",
    "accountOf",
    world.client.address,
  );
  expect(account).toMatchObject({
    number: onChain.id,
    free: onChain.free,
    escrowed: onChain.escrowed,
    sequence: onChain.sequence,
  });
  expect(account).toMatchObject({ deposited: 5_200, withdrawn: 50, charged: 72 });
  const [newest] = await listWalletEvents(pool, { wallet: world.client.address, limit: 1 });
  expect(newest?.kind).toBe("job.arbiter_voted");
  expect(await getAccount(pool, world.gateway.address)).toBeNull();
});

test("refused payouts are kept apart from their claims", async () => {
  const rows = await stage.sql("SELECT kind, payee, units FROM index.payout ORDER BY position");
  const { world } = stage;
  const worker = world.workerOwner.address.toLowerCase();
  expect(rows).toEqual([
    { kind: "deferred", payee: worker, units: "72000" },
    { kind: "deferred", payee: world.deployment.contracts.ProtocolTreasury.toLowerCase(), units: "8000" },
    { kind: "claimed", payee: worker, units: "72000" },
    // What a compensation leaves over whole credits.
    { kind: "deferred", payee: world.client.address.toLowerCase(), units: "8000" },
  ]);
  const failures = await stage.sql("SELECT call, error, item FROM index.batch_item_failure");
  expect(failures).toEqual([{ call: "refund", error: "Job_TooEarly", item: 1 }]);
});
