/** `POST /v1/jobs/{job_id}/dispute`: what is compared, what is too late, what is not a client's to dispute. */
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Keys } from "../../../api/accounts/keys.ts";
import { GAS_CEILING } from "../../../api/chain/operations.ts";
import { apiClient, chat, eventually } from "../../support/api-client.ts";
import { startTestStack } from "../../support/stack.ts";
import { hashOf, OTHER, Scene } from "./support.ts";

const MODEL = "qwen3-8b";
const SLOW = "mistral-7b-instruct-v0.3";
const MUTE = "qwen3-14b";
const TX = /^0x[0-9a-f]{64}$/;
let scene: Scene;

beforeAll(async () => {
  scene = new Scene(
    await startTestStack({
      windows: { completion: 15 },
      env: { api: { DISPUTE_WAIT_SECONDS: "5" } },
      workers: [
        { models: [MODEL] },
        { models: [SLOW], env: { WORKER_TOKENS_PER_SECOND: "20" } },
        { models: [MUTE], env: { WORKER_FIRST_TOKEN_MS: "600000" } },
      ],
    }),
  );
});
afterAll(() => scene?.close());

describe("a client that received what the worker signed", () => {
  it("is told so: 200, nothing is opened", async () => {
    const { id, text } = await scene.settledJob(MODEL);
    const answer = await scene.dispute(id, hashOf(text).toUpperCase().replace("SHA256", "sha256"));
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      job_id: id,
      dispute_opened: false,
      your_hash: hashOf(text),
      worker_hash: hashOf(text),
      dispute_tx: null,
      arbitration_window_hours: 24,
    });
    expect(await scene.status(id)).toBe("settled");
  });
});

describe("a client that received something else", () => {
  it("opens a dispute: on chain, in the job and in the list at once", async () => {
    const { id, text } = await scene.settledJob(MODEL);
    const before = await scene.chain.account(scene.client.address);
    const answer = await scene.dispute(id);
    expect(answer.body).toEqual({
      job_id: id,
      dispute_opened: true,
      your_hash: OTHER,
      worker_hash: hashOf(text),
      dispute_tx: expect.stringMatching(TX),
      arbitration_window_hours: 24,
    });
    expect(answer.status).toBe(200);
    const job = await scene.job(id);
    expect(job.body).toMatchObject({ status: "disputed", credits_charged: 8, usdg_value: 0.08 });
    expect(job.body.completed_at).not.toBeNull();
    for (const header of ["x-service-job-id", "x-service-tx-hash", "x-service-settlement-tx", "x-service-worker"])
      expect([header, answer.headers.get(header)]).toEqual([header, job.headers.get(header)]);
    expect((await scene.api.get("/v1/jobs?status=disputed")).body.data[0]).toEqual(job.body);
    const settled = (await scene.api.get("/v1/jobs?status=settled")).body.data;
    expect(settled.map((each: { id: string }) => each.id)).not.toContain(id);

    const { events, receipt } = await scene.chain.transaction(answer.body.dispute_tx, id);
    expect(receipt.gasUsed).toBeLessThan(GAS_CEILING.openDispute);
    expect(events).toMatchObject([
      {
        eventName: "JobDisputed",
        args: {
          receivedHash: `0x${OTHER.slice(7)}`,
          workerHash: `0x${hashOf(text).slice(7)}`,
          byGateway: true,
          bond: 0,
        },
      },
    ]);
    // The client puts up nothing for a dispute that its service opens.
    const after = await scene.chain.account(scene.client.address);
    expect([after.free, after.escrowed, after.openDisputes]).toEqual([before.free, before.escrowed, 1]);
    // And the index says the same once it has seen it.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await scene.job(id)).body).toEqual(job.body);
    expect((await scene.api.get("/v1/jobs?status=disputed")).body.data[0]).toEqual(job.body);
  });

  it("does so once: 409 dispute_already_open, also for two requests at a time", async () => {
    const { id } = await scene.settledJob(MODEL);
    const answers = await Promise.all([scene.dispute(id), scene.dispute(id, hashOf("a third text"))]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const opened = answers.find(({ status }) => status === 200);
    const again = await scene.dispute(id);
    expect(again.status).toBe(409);
    expect(again.body.error).toMatchObject({
      code: "dispute_already_open",
      type: "conflict_error",
      details: { dispute_tx: opened?.body.dispute_tx },
    });
  });

  it("is in time up to the sixtieth second after the final token, and a thousandth later too late", async () => {
    const late = await scene.settledJob(MODEL);
    await scene.answeredAgo(late.id, 61);
    expect((await scene.dispute(late.id)).body.error.code).toBe("dispute_window_expired");
    // A repetition counts from its first arrival, so the border is tested to the point.
    await scene.answeredAgo(late.id, 100);
    await scene.pool.query("DELETE FROM dispute_request WHERE job_id = $1", [late.id]);
    await scene.arrivedAfter(late.id, 60.001);
    const refused = await scene.dispute(late.id);
    expect(refused.status).toBe(422);
    expect(refused.body.error).toMatchObject({
      code: "dispute_window_expired",
      type: "invalid_request_error",
      docs: `${scene.stack.info.base_url}/docs/errors#dispute_window_expired`,
    });
    expect(refused.headers.get("x-service-job-id")).toBe(late.id);
    expect(await scene.status(late.id)).toBe("settled");

    for (const seconds of [59, 60]) {
      const { id } = await scene.settledJob(MODEL);
      await scene.answeredAgo(id, 100);
      await scene.arrivedAfter(id, seconds);
      expect((await scene.dispute(id)).body).toMatchObject({ dispute_opened: true });
    }
  });
});

describe("before the settlement", () => {
  it("a request waits for it and then opens the dispute", async () => {
    const response = await scene.api.request(
      "POST",
      "/v1/chat/completions",
      chat(SLOW, "Write. [[tokens:30]]", { stream: true }),
    );
    const id = response.headers.get("x-service-job-id") as string;
    const answer = scene.dispute(id);
    expect(await scene.status(id)).not.toBe("settled");
    expect((await answer).body).toMatchObject({ job_id: id, dispute_opened: true });
    await response.text();
  });

  it("it is answered with 409 job_not_settled when that takes long; repeated, it counts from its first arrival", async () => {
    const response = await scene.api.request(
      "POST",
      "/v1/chat/completions",
      chat(SLOW, "Write. [[tokens:30]]", { stream: true }),
    );
    const id = response.headers.get("x-service-job-id") as string;
    await scene.rpc("evm_setAutomine", [false]);
    const early = await scene.dispute(id);
    expect(early.status).toBe(409);
    expect(early.body.error).toMatchObject({ code: "job_not_settled", type: "conflict_error" });
    expect(early.headers.get("retry-after")).toBe("5");
    await scene.rpc("evm_setAutomine", [true]);
    await scene.rpc("evm_mine");
    await response.text();
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

describe("nothing to dispute", () => {
  it("is a job that ended without a charge: 409 conflict", async () => {
    const reply = await scene.api.post("/v1/chat/completions", chat(MUTE, "Hello"));
    expect(reply.status).toBe(504);
    const answer = await scene.dispute(reply.headers.get("x-service-job-id") as string);
    expect(answer.status).toBe(409);
    expect(answer.body.error).toMatchObject({ code: "conflict", message: expect.stringContaining("without a charge") });
  });

  it("is a job of somebody else or of nobody: 404 job_not_found", async () => {
    const { id } = await scene.settledJob(MODEL);
    const stranger = privateKeyToAccount(`0x${"37".repeat(32)}`).address;
    const other = apiClient(scene.stack, await new Keys(scene.pool).regenerate(stranger));
    for (const [client, job] of [
      [other, id],
      [scene.api, "job_00000000000070008000000000000000"],
      [scene.api, "nonsense"],
    ] as const) {
      const answer = await scene.dispute(job, OTHER, client);
      expect([job, answer.status, answer.body.error.code]).toEqual([job, 404, "job_not_found"]);
    }
    expect((await scene.pool.query("SELECT 1 FROM dispute_request WHERE job_id = $1", [id])).rows).toEqual([]);
  });

  it.each([
    ["no body", {}],
    ["no prefix", { received_output_hash: "a7".repeat(32) }],
    ["a short hash", { received_output_hash: "sha256:a7" }],
    ["a number", { received_output_hash: 7 }],
  ])("is what is no hash (%s): 400 that names the field", async (_name, body) => {
    const answer = await scene.disputeWith(body, "job_00000000000070008000000000000000");
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code: "invalid_request", param: "received_output_hash" });
  });
});

describe("a wallet with eight disputes that its service opened", () => {
  it("has the next one refused with 409 conflict, and keeps its charge", async () => {
    const open = async () => (await scene.chain.account(scene.client.address)).openDisputes;
    while ((await open()) < 8) {
      const { id } = await scene.settledJob(MODEL);
      expect((await scene.dispute(id)).status).toBe(200);
    }
    const { id, text } = await scene.settledJob(MODEL);
    const answer = await scene.dispute(id);
    expect(answer.status).toBe(409);
    expect(answer.body.error).toMatchObject({ code: "conflict", message: expect.stringContaining("open disputes") });
    expect(await scene.status(id)).toBe("settled");
    // What needs no dispute is still answered.
    expect((await scene.dispute(id, hashOf(text))).body.dispute_opened).toBe(false);
  });
});

it("outcomes are counted for the operator", async () => {
  const text = await (await fetch(`${scene.stack.info.base_url}/metrics`)).text();
  for (const outcome of ["opened", "equal", "expired", "not_settled", "already_open", "not_charged", "too_many"])
    expect(text).toMatch(new RegExp(`gateway_disputes_total\\{outcome="${outcome}"\\} [1-9]`));
});
