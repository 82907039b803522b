/** What a wallet is told that it can spend while settlements are on their way: on a real chain, never more than the truth. */
import { createWalletClient, type Hex, http, type LocalAccount, type PublicClient } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Balance, Balances } from "../../../api/chain/balances.ts";
import {
  acknowledgeOperation,
  completeOperation,
  failOperation,
  refundOperation,
} from "../../../api/chain/operations.ts";
import { connectRpc, type Rpc } from "../../../api/chain/rpc.ts";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { jobDigests } from "../../../protocol/digests.ts";
import { inferenceEscrowAbi } from "../../../protocol/generated/abi.ts";
import { toApiJobId } from "../../../protocol/job-id.ts";
import { FailureReason } from "../../../protocol/job-status.ts";
import { type Completion, compactSignature } from "../../../protocol/messages.ts";
import { DEPLOYER_KEY } from "../../../scripts/deploy/config.ts";
import { mined } from "../../support/mined.ts";
import { lock, owner, registerWorker, settle, World } from "../../support/pipeline-world.ts";

/** A lite job of 5,000 tokens locks 5 credits; a short answer costs 2. */
const LOCKED = 5;
const CHARGED = 2;
const RETURNED = LOCKED - CHARGED;
const SETTLE_WITHIN = 150;

const world = new World();
let worker: LocalAccount;
let other: LocalAccount;
let started: Awaited<ReturnType<World["start"]>>;
let balances: Balances;
/** Methods that the node was asked for, one line an HTTP request. */
let asked: string[];
/** The account on chain before a job. */
let before: Balance;

beforeAll(async () => {
  await world.open();
  worker = await registerWorker(world);
  other = await registerWorker(world);
});
beforeEach(async () => {
  await world.pool.query("DELETE FROM job");
  started = await world.start();
  balances = open();
  started.pipeline.onMined((batch) => balances.observe(batch));
  before = await onChain();
});
afterEach(() => world.endPipelines());
afterAll(() => world.close());

const escrow = () => world.stack.info.contracts["InferenceEscrow"] as Hex;

function open(time = () => started.head.time): Balances {
  asked = [];
  const plain = connectRpc(world.stack.info.rpc_url);
  const rpc: Rpc = {
    ...plain,
    request: (method, params, timeoutMs) => {
      asked.push(method);
      return plain.request(method, params, timeoutMs);
    },
    batch: (calls, timeoutMs) => {
      asked.push(calls.map(({ method }) => method).join("+"));
      return plain.batch(calls, timeoutMs);
    },
  };
  const head = {
    get time() {
      return time();
    },
  };
  return new Balances({
    rpc,
    pool: world.pool,
    escrow: escrow(),
    head,
    settleBefore: (lockedAt) => lockedAt + SETTLE_WITHIN,
  });
}

async function onChain(): Promise<Balance> {
  const { free, escrowed } = await world.node.readContract({
    address: escrow(),
    abi: inferenceEscrowAbi,
    functionName: "accountOf",
    args: [owner.address],
  });
  return { free, escrowed };
}

/** Balance as `more` free credits than before the job, and `escrowed` of it in escrow. */
const balance = (more: number, escrowed: number): Balance => ({
  free: before.free + more,
  escrowed: before.escrowed + escrowed,
});

type Answered = { jobId: Hex; completion: Completion; signature: Hex; until: number };

/** A locked job with an answer in its row, as it is when its settlement is about to be sent. */
async function answeredJob(): Promise<Answered> {
  const { pipeline, head } = started;
  const operation = lock(head, { maxTokens: 5_000 });
  const { jobId } = operation;
  const row = {
    jobId,
    wallet: owner.address,
    model: "m",
    tier: "lite",
    creditsLocked: LOCKED,
    maxTokens: 100,
  } as const;
  const job = world.store.newJob({ ...row, validUntil: 1_900_000_000, repeatable: true });
  const outcome = await pipeline.submit(operation, job).mined;
  if (outcome.status !== "mined") throw new Error(`not locked: ${outcome.revert.name}`);
  const lockedAt = outcome.blockTime;
  const tokens = { promptTokens: 3, completionTokens: 4, reasoningTokens: 0, textBytes: 11 };
  const completion = { jobId, proofHash: answerHash("The answer."), ...tokens, completedAt: lockedAt };
  const hash = jobDigests(world.stack.info.chain_id, escrow()).completion(completion);
  const signature = (await worker.sign?.({ hash })) as Hex;
  await world.store.answered({
    jobId,
    worker: worker.address,
    attempt: 1,
    acknowledgement: null,
    completion: { completion, signature, finish_reason: "stop" },
    countedTokens: 4,
    finalTokenAt: new Date(),
    creditsCharged: CHARGED,
    output: null,
    retentionHours: 1,
  });
  return { jobId, completion, signature, until: lockedAt + SETTLE_WITHIN };
}

const settlementOf = ({ completion, signature, until }: Answered) =>
  completeOperation(
    { completion, signature, countedTokens: completion.completionTokens, wallet: owner.address },
    until * 1000,
  );

/** Ends what a test left open, so that the next one starts from a quiet wallet. */
async function end({ jobId }: Answered): Promise<void> {
  await started.pipeline.submit(failOperation(jobId, FailureReason.Cancelled)).mined;
  await world.store.ended({ jobId, state: "failed" });
}

/** Relays a worker's acknowledgement of an attempt. */
async function acknowledge(jobId: Hex, by: LocalAccount, attempt: number): Promise<void> {
  const hash = jobDigests(world.stack.info.chain_id, escrow()).acknowledgement({ jobId, attempt });
  const before = started.head.time + 60;
  const assignment = { jobId, worker: by.address, attempt, acknowledgeBy: before };
  const operation = acknowledgeOperation(assignment, (await by.sign?.({ hash })) as Hex, before);
  expect((await started.pipeline.submit(operation).mined).status).toBe("mined");
}

describe("a settlement", () => {
  it("that is not mined: what it will give back can be spent", async () => {
    const job = await answeredJob();
    expect(await onChain()).toEqual(balance(-LOCKED, LOCKED));
    expect(await balances.read(owner.address)).toEqual(balance(-CHARGED, CHARGED));
    await end(job);
    expect(await balances.read(owner.address)).toEqual(before);
  });

  it("that is mined counts once, also while its row does not say so", async () => {
    const job = await answeredJob();
    expect((await started.pipeline.submit(settlementOf(job)).mined).status).toBe("mined");
    await world.rows.written(job.jobId);
    await world.pool.query("UPDATE job SET state = 'settling' WHERE job_id = $1", [toApiJobId(job.jobId)]);
    expect(await balances.read(owner.address)).toEqual(balance(-CHARGED, 0));
    expect(await onChain()).toEqual(balance(-CHARGED, 0));
  });

  it("that is refused: no more is shown than what the failed job gives back", async () => {
    const job = await answeredJob();
    const refused = settlementOf({ ...job, completion: { ...job.completion, completionTokens: 5 } });
    expect((await started.pipeline.submit(refused).mined).status).toBe("reverted");
    expect(await balances.read(owner.address)).toEqual(balance(-CHARGED, CHARGED));
    await end(job);
    expect(await balances.read(owner.address)).toEqual(before);
  });

  it("of a job that failed for its client counts nothing: its lock comes back whole", async () => {
    const job = await answeredJob();
    await world.store.refused({ jobId: job.jobId, reason: "answer_lost", why: "the gateway broke off" });
    expect(await balances.read(owner.address)).toEqual(balance(-LOCKED, LOCKED));
    await end(job);
  });

  it("that the contract will refuse counts nothing, as after a later attempt", async () => {
    const job = await answeredJob();
    await acknowledge(job.jobId, worker, 1);
    expect(await balances.read(owner.address)).toEqual(balance(-CHARGED, CHARGED));
    await acknowledge(job.jobId, other, 2);
    expect(await balances.read(owner.address)).toEqual(balance(-LOCKED, LOCKED));
    expect((await started.pipeline.submit(settlementOf(job)).mined).status).toBe("reverted");
    await end(job);
  });

  it("of a job that its worker has proven counts nothing until it is mined", async () => {
    const job = await answeredJob();
    await acknowledge(job.jobId, worker, 1);
    const wallet = createWalletClient({
      account: privateKeyToAccount(DEPLOYER_KEY),
      transport: http(world.stack.info.rpc_url),
    });
    const args = [job.completion, compactSignature(job.signature)] as const;
    const call = {
      address: escrow(),
      abi: inferenceEscrowAbi,
      functionName: "submitProof",
      args,
      chain: null,
    } as const;
    await mined(world.node as unknown as PublicClient, await wallet.writeContract(call));
    expect(await balances.read(owner.address)).toEqual(balance(-LOCKED, LOCKED));
    expect((await started.pipeline.submit(settlementOf(job)).mined).status).toBe("mined");
    expect(await balances.read(owner.address)).toEqual(balance(-CHARGED, 0));
  });

  it("that a reorganisation takes back never shows more than the job's return", async () => {
    const job = await answeredJob();
    await settle(world, started.pipeline, settlementOf(job));
    const settled = balance(-CHARGED, 0);
    expect(await balances.read(owner.address)).toEqual(settled);
    world.takenBack = [];
    // The pipeline sends the settlement again only once its row is open: not before the first balance is read.
    const isRead = Promise.withResolvers<void>();
    const reopen = world.store.reopen.bind(world.store);
    vi.spyOn(world.store, "reopen").mockImplementationOnce((jobIds) => isRead.promise.then(() => reopen(jobIds)));
    await world.reorganise(1);
    // No block comes while a balance is read: anvil would answer calls of one batch from two states (docs/upstream.md).
    await world.node.setAutomine(false);
    expect(await onChain()).toEqual(balance(-LOCKED, LOCKED));
    expect(await balances.read(owner.address)).toEqual(balance(-LOCKED, LOCKED));
    isRead.resolve();
    await world.untilPending(1);
    expect(world.takenBack).toEqual([job.jobId]);
    expect(await balances.read(owner.address)).toEqual(balance(-CHARGED, CHARGED));
    await world.node.mine({ blocks: 1 });
    expect(await balances.read(owner.address)).toEqual(settled);
  });
});

describe("a balance", () => {
  it("costs one request at one block, however many settlements wait", async () => {
    const jobs = [await answeredJob(), await answeredJob(), await answeredJob()];
    asked = [];
    expect(await balances.read(owner.address)).toEqual(balance(-3 * CHARGED, 3 * CHARGED));
    expect(asked).toEqual(["eth_blockNumber", "eth_call+eth_call+eth_call+eth_call"]);
    for (const job of jobs) await end(job);
    asked = [];
    expect(await balances.read(owner.address)).toEqual(before);
    expect(asked).toEqual(["eth_blockNumber", "eth_call"]);
  });

  it("looks at the newest settlements only: those beyond count nothing", async () => {
    const job = await answeredJob();
    await world.pool.query(
      `INSERT INTO job (job_id, wallet, gateway, operator, owner, model, tier, state, valid_until, credits_locked, completion)
       SELECT 'job_ffff' || lpad(n::text, 28, '0'), $1, 'none', 1, gen_random_uuid(), 'm', 'lite', 'settling', 0, 5,
              '{"completion": {"completionTokens": 1, "completedAt": 1900000000}}'
       FROM generate_series(1, 60) AS n`,
      [owner.address.toLowerCase()],
    );
    expect(await balances.read(owner.address)).toEqual(balance(-LOCKED, LOCKED));
    await world.pool.query("DELETE FROM job WHERE gateway = 'none'");
    expect(await balances.read(owner.address)).toEqual(balance(-CHARGED, CHARGED));
    await end(job);
  });

  it("read without the chain counts an expected return once, or leaves it out", async () => {
    const job = await answeredJob();
    balances.expectReturn(owner.address, job.jobId, RETURNED, job.until);
    expect(balances.known(owner.address)).toEqual(balance(-CHARGED, CHARGED));
    // Another transaction of ours tells a newer account.
    const second = await answeredJob();
    expect(balances.known(owner.address)).toEqual(balance(-2 * LOCKED, 2 * LOCKED));
    expect((await started.pipeline.submit(settlementOf(job)).mined).status).toBe("mined");
    expect(balances.known(owner.address)).toEqual(balance(-CHARGED - LOCKED, LOCKED));
    await end(second);
    expect(balances.known(owner.address)).toEqual(balance(-CHARGED, 0));
    balances.forget();
    expect(balances.known(owner.address)).toBeNull();
    await world.rows.written(job.jobId);
  });

  it("leaves out what can be settled no more, before anybody has refunded it", async () => {
    const job = await answeredJob();
    let time = job.until - 1;
    balances = open(() => time);
    expect(await balances.read(owner.address)).toEqual(balance(-CHARGED, CHARGED));
    time = job.until;
    expect(balances.known(owner.address)).toEqual(balance(-LOCKED, LOCKED));
    expect(await balances.read(owner.address)).toEqual(balance(-LOCKED, LOCKED));
    await world.node.setNextBlockTimestamp({ timestamp: BigInt(job.until) });
    await world.node.mine({ blocks: 1 });
    expect((await started.pipeline.submit(settlementOf(job)).mined).status).toBe("reverted");
    expect((await started.pipeline.submit(refundOperation(job.jobId)).mined).status).toBe("mined");
    expect(await balances.read(owner.address)).toEqual(before);
  });
});
