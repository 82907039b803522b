/** What becomes of a dispute: one that comes early, rulings by the arbiters, silence; and a worker that proves an answer and does not deliver it. */

import { setTimeout as sleep } from "node:timers/promises";
import { type Abi, encodeFunctionData, type Hex, parseEther, toHex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { GAS_CEILING } from "../../api/chain/operations.ts";
import { answerHash, toProofHash } from "../../protocol/answer-hash.ts";
import { arbitrationPanelAbi, testStablecoinAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus, Ruling } from "../../protocol/job-status.ts";
import { chat, eventually } from "../support/api-client.ts";
import { Contract } from "../support/contract.ts";
import { OTHER, Scene } from "../support/dispute-scene.ts";
import { giveGas } from "../support/gas.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { PlayedWorker } from "../worker/support/played-worker.ts";

const MODEL = "qwen3-8b";
const SLOW = "mistral-7b-instruct-v0.3";
/** Their workers are played: one withholds an answer for good, one until it is asked. */
const [WITHHELD, LATE] = ["qwen3-14b", "gemma-3-27b-it"] as const;
const FINALIZATION = 60;
const DAY = 86_400;
/** Arbiters of a development deployment: accounts eight and nine of the mnemonic that every development chain funds. */
const ARBITERS = [
  "0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
  "0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
] as const;
/** Somebody without a role of its own. */
const ANYONE = privateKeyToAccount(generatePrivateKey());
/** How long the gateway waits for a settlement. */
const DISPUTE_WAIT_MS = 8_000;

let stack: TestStack;
let scene: Scene;

beforeAll(async () => {
  stack = await startTestStack({
    env: { api: { DISPUTE_WAIT_SECONDS: String(DISPUTE_WAIT_MS / 1_000), ACKNOWLEDGE_SECONDS: "8" } },
    workers: [
      { models: [MODEL] },
      { models: [SLOW], env: { WORKER_TOKENS_PER_SECOND: "20" } },
      { models: [WITHHELD], start: false },
      { models: [LATE], start: false },
    ],
    windows: { finalization: FINALIZATION },
  });
  scene = await Scene.open(stack);
  await scene.rpc("anvil_setBalance", [ANYONE.address, toHex(parseEther("10"))]);
  // What the treasury has earned before.
  const treasury = scene.contract("ProtocolTreasury");
  await scene.send(ANYONE, scene.contract("Stablecoin"), testStablecoinAbi as Abi, "mint", [treasury, 10_000_000n]);
});
afterAll(async () => {
  await scene?.close();
  await stack?.remove();
});

/** The wallet adds its own hash first: without that, the arbiters of a dispute that its operator opened wait for the end of the window. */
const vote = async (jobId: string, ruling: number) => {
  await scene.client.escrow("joinDispute", [scene.chainId(jobId), `0x${OTHER.slice(7)}`]);
  const panel = scene.contract("ArbitrationPanel");
  for (const key of ARBITERS) {
    const args = [scene.chainId(jobId), ruling];
    await scene.send(privateKeyToAccount(key), panel, arbitrationPanelAbi as Abi, "vote", args);
  }
};
const becomes = (jobId: string, status: string) =>
  eventually(
    () => scene.job(jobId),
    ({ body }) => body.status === status,
  );
const credits = async () => (await scene.api.get("/v1/account")).body.credits_remaining;

/** Stops the mining of blocks, or starts it again and mines what waits. */
async function mining(on: boolean): Promise<void> {
  await scene.rpc("evm_setAutomine", [on]);
  if (on) await scene.rpc("evm_mine");
}

type Answer = Awaited<ReturnType<Scene["dispute"]>>;

/** Where the machine stands still for seconds, a test begins again; not for ever. */
const ROUNDS = 5;
/** Time for two looks at the chain. */
const LOOKS_MS = 500;

const isUnsettled = async (id: string) => {
  const { status } = await scene.chain.job(id);
  return status === ChainStatus.Locked || status === ChainStatus.Acknowledged;
};
const isRecorded = async (id: string) =>
  (await scene.pool.query("SELECT 1 FROM dispute_request WHERE job_id = $1", [id])).rowCount === 1;

/** Begins an answer of three seconds, and stops the mining of blocks before its end: it is not settled until that goes on. */
async function unsettledJob(): Promise<{ id: string; text: Promise<string> }> {
  for (let round = 1; round <= ROUNDS; round++) {
    const body = chat(SLOW, "Write. [[tokens:60]]", { stream: true });
    const response = await scene.api.request("POST", "/v1/chat/completions", body);
    const id = response.headers.get("x-service-job-id") as string;
    await mining(false);
    if (await isUnsettled(id)) return { id, text: response.text() };
    // The machine stood still for as long as the answer took.
    await mining(true);
    await response.text();
  }
  throw new Error(`settled before mining could be stopped, ${ROUNDS} times`);
}

/** Asks for a dispute; `waitedMs`: how long the answer took, once it is there. */
function ask(id: string) {
  const began = Date.now();
  const request = { answer: null as Answer | null, waitedMs: 0, over: Promise.resolve() };
  request.over = scene.dispute(id).then((answer) => {
    request.answer = answer;
    request.waitedMs = Date.now() - began;
  });
  return request;
}

/** A request that came before the settlement, with its answer; null where the test stood still for as long as a request waits. */
async function askedEarly() {
  const { id, text } = await unsettledJob();
  const request = ask(id);
  await text;
  await eventually(() => isRecorded(id), Boolean);
  await sleep(LOOKS_MS);
  expect(await isUnsettled(id)).toBe(true);
  const isOver = () => request.answer?.status === 409 && request.waitedMs >= DISPUTE_WAIT_MS;
  if (!isOver()) expect(request.answer).toBeNull();
  await mining(true);
  await request.over;
  return isOver() ? null : { id, answer: request.answer };
}

describe("before the settlement", () => {
  afterEach(() => mining(true));

  it("the job shows the transaction that is on its way, which then settles it", async () => {
    const { id, text } = await unsettledJob();
    await text;
    const settling = await eventually(
      () => scene.job(id),
      ({ body }) => body.status !== "settling" || body.on_chain.settlement_tx !== null,
    );
    expect(settling.body).toMatchObject({ status: "settling", on_chain: { block_number: null } });
    const { settlement_tx } = settling.body.on_chain;
    expect(settling.headers.get("x-service-settlement-tx")).toBe(settlement_tx);
    await mining(true);
    expect((await becomes(id, "settled")).body.on_chain.settlement_tx).toBe(settlement_tx);
  });

  it("a request waits for it and then opens the dispute", async () => {
    let asked = await askedEarly();
    for (let round = 1; asked === null && round < ROUNDS; round++) asked = await askedEarly();
    expect(asked?.answer?.body).toMatchObject({ job_id: asked?.id, dispute_opened: true });
  });

  it("it gets 409 job_not_settled after a wait; repeated, it counts from its arrival", async () => {
    const { id, text } = await unsettledJob();
    const request = ask(id);
    await request.over;
    const early = request.answer as Answer;
    expect(request.waitedMs).toBeGreaterThanOrEqual(DISPUTE_WAIT_MS);
    expect(early.status).toBe(409);
    expect(early.body.error).toMatchObject({ code: "job_not_settled", type: "conflict_error" });
    expect(early.headers.get("retry-after")).toBe("5");
    await mining(true);
    await text;
    await eventually(
      () => scene.status(id),
      (status) => status === "settled",
    );
    await scene.answeredAgo(id, 100);
    await scene.pool.query(
      "UPDATE dispute_request d SET arrived_at = final_token_at + interval '59 s' FROM job j WHERE j.job_id = $1 AND d.job_id = $1",
      [id],
    );
    expect((await scene.dispute(id)).body).toMatchObject({ job_id: id, dispute_opened: true });
  });
});

describe("a ruling", () => {
  it("against the worker: refunded, the charge is back, the stake is slashed", async () => {
    const before = await credits();
    const { id } = await scene.settledJob(MODEL);
    const opened = await scene.dispute(id);
    expect(opened.body.dispute_opened).toBe(true);
    // Nobody else uses this gateway: the batch has this item alone.
    const { receipt } = await scene.chain.transaction(opened.body.dispute_tx, id);
    expect(receipt.gasUsed).toBeLessThan(GAS_CEILING.openDispute);
    expect(await credits()).toBe(before - 8);
    await vote(id, Ruling.WorkerAtFault);
    const { body } = await becomes(id, "refunded");
    expect(body).toMatchObject({ credits_charged: 0, usdg_value: 0, refund_reason: "dispute" });
    expect(body.on_chain.settlement_tx).not.toBeNull();
    expect(await credits()).toBe(before);
    expect((await scene.api.get("/v1/jobs?status=refunded")).body.data[0]).toEqual(body);
    const disputed = (await scene.api.get("/v1/jobs?status=disputed")).body.data;
    expect(disputed.map((job: { id: string }) => job.id)).not.toContain(id);
    const slashed = await scene.chain.client.readContract({
      address: scene.contract("WorkerRegistry") as Hex,
      abi: workerRegistryAbi,
      functionName: "slashOf",
      args: [scene.chainId(id)],
    });
    expect(slashed).toEqual([1, true]);
    const again = await scene.dispute(id);
    expect([again.status, again.body.error.code]).toEqual([409, "dispute_already_open"]);
  });

  it("that rejects it: settled, and charged as before", async () => {
    const before = await credits();
    const { id } = await settledElsewhere();
    await scene.dispute(id);
    await vote(id, Ruling.Rejected);
    expect((await becomes(id, "settled")).body).toMatchObject({ credits_charged: 8 });
    expect(await credits()).toBe(before - 8);
  });
});

it("a dispute that its process only recorded is opened by the next process", async () => {
  const { id } = await settledElsewhere();
  await stack.kill("api");
  await scene.arrivedAfter(id, 20);
  await scene.pool.query("UPDATE dispute_request SET outcome = NULL WHERE job_id = $1", [id]);
  await stack.restart("api");
  await becomes(id, "disputed");
  // The index may say so before the gateway that sent it.
  const recorded = await eventually(
    () =>
      scene.pool.query(
        "SELECT outcome, job.dispute_tx FROM dispute_request JOIN job USING (job_id) WHERE job_id = $1",
        [id],
      ),
    ({ rows: [row] }) => row.outcome !== null,
  );
  expect(recorded.rows).toEqual([{ outcome: "opened", dispute_tx: expect.stringMatching(/^0x[0-9a-f]{64}$/) }]);
});

describe("a worker that proves an answer on chain and does not deliver it", () => {
  const UNSEEN = "Nobody ever sees this.";
  const TEXT = "What the worker hands out when it is asked.";
  const workers: PlayedWorker[] = [];
  afterAll(async () => {
    for (const worker of workers) await worker.stop();
  });

  async function played(number: number): Promise<PlayedWorker> {
    const worker = await PlayedWorker.start(stack, number);
    workers.push(worker);
    await giveGas(stack, worker.address, "10");
    return worker;
  }

  /** Asks for an answer of the worker's model; the client is told that it is withheld. Returns the job. */
  async function withheld(model: string): Promise<string> {
    const document = await Contract.of(stack.info.base_url);
    const reply = await scene.api.request("POST", "/v1/chat/completions", chat(model, "Hello"));
    expect(reply.status).toBe(500);
    const { error } = await document.check("post", "/v1/chat/completions", reply);
    const jobId = error.details.job_id as string;
    expect(error).toMatchObject({ code: "answer_withheld", details: { credits_held: expect.any(Number) } });
    expect(error.message).toContain(`GET /v1/jobs/${jobId}`);
    const left = Date.parse(error.details.held_until) / 1000 - Date.now() / 1000;
    expect(left).toBeGreaterThan(FINALIZATION - 30);
    expect(left).toBeLessThan(FINALIZATION + 30);
    return jobId;
  }

  const listed = async (model: string) =>
    (await scene.api.get("/v1/models")).body.data.some(({ id }: { id: string }) => id === model);

  it("withholds its answer: the charge is disputed, and it gets no job until then", async () => {
    const worker = await played(3);
    await worker.isOffered(WITHHELD);
    worker.play(
      async (offer, response) => {
        // Its gateway's later questions for the output are hung up on as well.
        if (offer.request !== undefined) await worker.prove(offer, UNSEEN);
        response.destroy();
      },
      { raw: true, once: true },
    );
    const jobId = await withheld(WITHHELD);
    expect(await listed(WITHHELD)).toBe(false);
    await eventually(
      () => scene.chain.job(jobId),
      ({ status }) => status === ChainStatus.Disputed,
      120_000,
    );
    const job = await eventually(
      () => scene.api.get(`/v1/jobs/${jobId}`),
      ({ body }) => body.status === "disputed",
    );
    expect(job.body).toMatchObject({
      credits_charged: 0,
      completed_at: null,
      on_chain: { settlement_tx: null, block_number: null, proof_hash: toProofHash(answerHash(UNSEEN)) },
    });
  });

  it("hands its answer out when asked: it is kept, charged and delivered", async () => {
    const worker = await played(4);
    await worker.isOffered(LATE);
    let signed: Awaited<ReturnType<PlayedWorker["prove"]>> | undefined;
    worker.play(
      async (offer, response) => {
        if (offer.request !== undefined) {
          signed = await worker.prove(offer, TEXT);
          return void response.destroy();
        }
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ text: TEXT, ...signed }));
      },
      { raw: true, once: true },
    );
    const jobId = await withheld(LATE);
    const job = await eventually(
      () => scene.api.get(`/v1/jobs/${jobId}`),
      ({ body }) => body.status === "settled",
    );
    expect(job.body).toMatchObject({ credits_charged: 18, worker_address: worker.address });
    const output = await scene.api.get(`/v1/jobs/${jobId}/output`);
    expect(output.body).toMatchObject({ content: TEXT });
    expect(toApiJobId((signed as NonNullable<typeof signed>).completion.jobId)).toBe(jobId);
  });
});

it("without a ruling the charge stays, and the client gets the protocol fee back", async () => {
  const { id } = await settledElsewhere();
  await scene.dispute(id);
  await scene.rpc("evm_increaseTime", [DAY]);
  await scene.rpc("evm_mine");
  // Nobody calls `expire`: the gateway does.
  expect((await becomes(id, "settled")).body).toMatchObject({
    credits_charged: 8,
    // 10 % of 8 credits is less than a credit: it waits as tokens for the wallet.
    compensation: { credits_due: 0.8, credits_paid: 0.8, credits_outstanding: 0 },
  });
});

it("what the treasury owes after a ruling is paid as soon as it can", async () => {
  const { id } = await settledElsewhere();
  await scene.dispute(id);
  const treasury = scene.contract("ProtocolTreasury");
  const stablecoin = scene.contract("Stablecoin");
  await scene.rpc("anvil_setBalance", [treasury, toHex(parseEther("1"))]);
  await scene.rpc("anvil_impersonateAccount", [treasury]);
  const held = await scene.chain.client.readContract({
    address: stablecoin as Hex,
    abi: testStablecoinAbi,
    functionName: "balanceOf",
    args: [treasury as Hex],
  });
  const data = encodeFunctionData({ abi: testStablecoinAbi, functionName: "transfer", args: [ANYONE.address, held] });
  await scene.rpc("eth_sendTransaction", [{ from: treasury, to: stablecoin, data }]);
  await vote(id, Ruling.WorkerAtFault);
  const owed = { credits_due: 8, credits_paid: 0, credits_outstanding: 8 };
  expect((await becomes(id, "refunded")).body).toMatchObject({ compensation: owed });
  await scene.send(ANYONE, stablecoin, testStablecoinAbi as Abi, "transfer", [treasury, held]);
  const paid = await eventually(
    () => scene.job(id),
    ({ body }) => body.compensation.credits_outstanding === 0,
    90_000,
  );
  expect(paid.body.compensation).toEqual({ credits_due: 8, credits_paid: 8, credits_outstanding: 0 });
});

/** A settled job of the worker that no ruling has slashed. */
const settledElsewhere = () => scene.settledJob(SLOW);
