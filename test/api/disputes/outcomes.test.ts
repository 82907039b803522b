/** What becomes of a dispute: rulings by the arbiters, silence, a proof without an answer, a gateway that dies meanwhile. */
import { type Abi, createWalletClient, type Hex, http, parseEther, toHex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  testStablecoinAbi,
  workerRegistryAbi,
} from "../../../protocol/generated/abi.ts";
import { ChainStatus } from "../../../protocol/job-status.ts";
import { Ruling } from "../../../protocol/ruling.ts";
import { OPERATOR } from "../../../scripts/local-stack/accounts.ts";
import { chat, eventually } from "../../support/api-client.ts";
import { mined } from "../../support/mined.ts";
import { startTestStack } from "../../support/stack.ts";
import { hashOf, OTHER, Scene } from "./support.ts";

const MODEL = "qwen3-8b";
const SLOW = "mistral-7b-instruct-v0.3";
const DAY = 86_400;
/** Arbiters of a development deployment: accounts eight and nine of the mnemonic that every development chain funds. */
const ARBITERS = [
  "0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
  "0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
] as const;
/** Somebody without a role of its own. */
const ANYONE = privateKeyToAccount(generatePrivateKey());
let scene: Scene;

beforeAll(async () => {
  scene = new Scene(
    await startTestStack({
      windows: { completion: 20, inclusion: 12 },
      env: { workers: { WORKER_ACKNOWLEDGE_MARGIN: "1", WORKER_SETTLEMENT_POLL_MS: "200" } },
      workers: [{ models: [MODEL] }, { models: [SLOW], env: { WORKER_TOKENS_PER_SECOND: "20" } }],
    }),
  );
  await scene.rpc("anvil_setBalance", [ANYONE.address, toHex(parseEther("10"))]);
  // What the treasury has earned before.
  const treasury = scene.contract("ProtocolTreasury");
  await scene.send(ANYONE, scene.contract("Stablecoin"), testStablecoinAbi as Abi, "mint", [treasury, 10_000_000n]);
});
afterAll(() => scene?.close());

/** The wallet adds its own hash first: without that, the arbiters of a dispute that its operator opened wait for the end of the window. */
const vote = async (jobId: string, ruling: number) => {
  const joined = [scene.chainId(jobId), `0x${OTHER.slice(7)}`];
  await scene.send(scene.client, scene.contract("InferenceEscrow"), inferenceEscrowAbi as Abi, "joinDispute", joined);
  for (const key of ARBITERS) {
    const args = [scene.chainId(jobId), ruling];
    await scene.send(
      privateKeyToAccount(key),
      scene.contract("ArbitrationPanel"),
      arbitrationPanelAbi as Abi,
      "vote",
      args,
    );
  }
};
const becomes = (jobId: string, status: string) =>
  eventually(
    () => scene.job(jobId),
    ({ body }) => body.status === status,
  );
const credits = async () => (await scene.api.get("/v1/account")).body.credits_remaining;

describe("a ruling", () => {
  it("against the worker: refunded, the charge is back, the stake is slashed", async () => {
    const before = await credits();
    const { id } = await scene.settledJob(MODEL);
    expect((await scene.dispute(id)).body.dispute_opened).toBe(true);
    expect(await credits()).toBe(before - 8);
    await vote(id, Ruling.WorkerAtFault);
    const { body } = await becomes(id, "refunded");
    expect(body).toMatchObject({ credits_charged: 0, usdg_value: 0 });
    expect(body.on_chain.settlement_tx).not.toBeNull();
    expect(await credits()).toBe(before);
    expect((await scene.api.get("/v1/jobs?status=refunded")).body.data[0]).toEqual(body);
    expect((await scene.api.get("/v1/jobs?status=disputed")).body.data).toEqual([]);
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

describe("an answer that the worker proved and the client never got", () => {
  it("is disputed before its charge, and the escrow comes back", async () => {
    await giveGas(privateKeyToAccount(scene.stack.workers[1]?.privateKey as Hex).address);
    const before = await credits();
    // Eight seconds of text: it is cut off before its end.
    const id = await cutOff("Write. [[tokens:160]]");
    await eventually(
      () => scene.chain.job(id),
      ({ status }) => status === ChainStatus.Proven,
    );
    await scene.stack.restart("api");
    await becomes(id, "settling");
    const reserve = await operator();
    const answer = await scene.dispute(id, hashOf(""));
    expect(answer.body).toMatchObject({
      job_id: id,
      dispute_opened: true,
      your_hash: hashOf(""),
      worker_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
    expect((await scene.job(id)).body).toMatchObject({
      status: "disputed",
      credits_charged: 0,
      completed_at: null,
      on_chain: { settlement_tx: null, block_number: null, proof_hash: answer.body.worker_hash },
    });
    // The operator puts up the charge in dispute.
    expect(await operator()).toEqual({ reserve: reserve.reserve - 8, held: reserve.held + 8 });
    await vote(id, Ruling.GatewayAtFault);
    expect((await becomes(id, "refunded")).body).toMatchObject({ credits_charged: 0, completed_at: null });
    expect(await credits()).toBe(before);
    // It has its bond back, and pays the worker, who did its work.
    expect(await operator()).toEqual({ reserve: reserve.reserve - 8, held: reserve.held });
  });
});

describe("a gateway that dies with a recorded dispute", () => {
  it("opens it after its restart: the client's time has not run out", async () => {
    const { id } = await settledElsewhere();
    await scene.rpc("evm_setAutomine", [false]);
    const asked = scene.dispute(id).catch(() => "cut");
    await eventually(
      async () => (await scene.pool.query("SELECT 1 FROM dispute_request WHERE job_id = $1", [id])).rows.length,
      (rows) => rows === 1,
    );
    await scene.stack.kill("api");
    await asked;
    await scene.rpc("evm_setAutomine", [true]);
    await scene.rpc("evm_mine");
    await scene.stack.restart("api");
    await becomes(id, "disputed");
    expect((await scene.chain.job(id)).status).toBe(ChainStatus.Disputed);
  });
});

describe("a recorded dispute that its process never came to", () => {
  it("is found and opened by the one that runs the job's gateway now", async () => {
    const { id } = await settledElsewhere();
    await scene.stack.kill("api");
    await scene.arrivedAfter(id, 20);
    await scene.pool.query("UPDATE dispute_request SET outcome = NULL WHERE job_id = $1", [id]);
    await scene.stack.restart("api");
    await becomes(id, "disputed");
    const { rows } = await scene.pool.query("SELECT outcome, dispute_tx FROM dispute_request WHERE job_id = $1", [id]);
    expect(rows).toEqual([{ outcome: "opened", dispute_tx: expect.stringMatching(/^0x[0-9a-f]{64}$/) }]);
  });
});

describe("silence of the arbiters", () => {
  it("leaves the charge, and the client gets the protocol fee back", async () => {
    const { id } = await settledElsewhere();
    await scene.dispute(id);
    await scene.rpc("evm_increaseTime", [DAY]);
    const escrow = scene.contract("InferenceEscrow");
    const before = await claimable();
    await scene.send(ANYONE, escrow, inferenceEscrowAbi as Abi, "expire", [scene.chainId(id)]);
    expect((await becomes(id, "settled")).body).toMatchObject({ credits_charged: 8 });
    // 10 % of 8 credits is less than a credit: it waits as tokens for the wallet.
    expect((await claimable()) - before).toBe(8_000n);
  });
});

/** What the stack's operator has put aside. */
const operator = async () => {
  const { reserve, held } = await scene.chain.client.readContract({
    address: scene.contract("InferenceEscrow") as Hex,
    abi: inferenceEscrowAbi,
    functionName: "operatorOf",
    args: [OPERATOR],
  });
  return { reserve, held };
};

/** Token units that wait for the client's wallet. */
const claimable = () =>
  scene.chain.client.readContract({
    address: scene.contract("InferenceEscrow") as Hex,
    abi: inferenceEscrowAbi,
    functionName: "claimableOf",
    args: [scene.client.address],
  });

/** A job of the worker that no ruling has slashed. */
const settledElsewhere = () => scene.settledJob(SLOW);

/** Kills the gateway in the middle of an answer; returns the job's id. */
async function cutOff(prompt: string): Promise<string> {
  const response = await scene.api.request("POST", "/v1/chat/completions", chat(SLOW, prompt, { stream: true }));
  const id = response.headers.get("x-service-job-id") as string;
  const reading = response.text().catch(() => "cut");
  await eventually(
    () => scene.chain.job(id),
    ({ status }) => status === ChainStatus.Acknowledged,
  );
  await scene.stack.kill("api");
  await reading;
  return id;
}

async function giveGas(to: Hex): Promise<void> {
  const wallet = createWalletClient({ account: ANYONE, transport: http(scene.stack.info.rpc_url) });
  const hash = await wallet.sendTransaction({ to, value: parseEther("1"), chain: null });
  await mined(scene.chain.client, hash);
}
