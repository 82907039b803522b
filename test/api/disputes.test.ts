/** `POST /v1/jobs/{job_id}/dispute`: what is compared, what is too late, what is not a client's to dispute. */
import { getAddress } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { afterAll, describe, expect, it } from "vitest";
import { Keys } from "../../api/account/keys.ts";
import { apiClient, chat } from "../support/api-client.ts";
import { hashOf, OTHER, Scene } from "../support/dispute-scene.ts";
import { untilIndexed } from "../support/indexed.ts";
import { MODEL } from "../support/service-stack.ts";
import { sharedStack } from "../support/shared-fixtures.ts";

const stack = await sharedStack("service");
const scene = await Scene.open(stack);
afterAll(() => scene.close());

const TX = /^0x[0-9a-f]{64}$/;

it("a client that received what the worker signed gets 200, and nothing is opened", async () => {
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

describe("a client that received something else", () => {
  it("opens a dispute: on chain, in the job and in the list at once", async () => {
    const { id, text } = await scene.settledJob(MODEL);
    const before = await scene.chain.account(scene.client.account.address);
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

    const { events } = await scene.chain.transaction(answer.body.dispute_tx, id);
    expect(events).toMatchObject([
      {
        eventName: "JobDisputed",
        args: {
          receivedHash: `0x${OTHER.slice(7)}`,
          workerHash: `0x${hashOf(text).slice(7)}`,
          byOperator: true,
          bond: 0,
        },
      },
    ]);
    // The client puts up nothing for a dispute that its service opens.
    const after = await scene.chain.account(scene.client.account.address);
    expect([after.free, after.escrowed, after.openDisputes]).toEqual([before.free, before.escrowed, 1]);
    // And the index says the same once it has seen it.
    await untilIndexed(scene.stack);
    expect((await scene.job(id)).body).toEqual(job.body);
    expect((await scene.api.get("/v1/jobs?status=disputed")).body.data[0]).toEqual(job.body);
  });

  it("carries the gateway's statement, so that arbiters see an invented hash", async () => {
    const streamed = async () => {
      const response = await scene.api.request("POST", "/v1/chat/completions", chat(MODEL, "Hello", { stream: true }));
      await response.text();
      return response.headers.get("x-service-job-id") as string;
    };
    for (const id of [(await scene.settledJob(MODEL)).id, await streamed()]) {
      const { body } = await scene.dispute(id);
      expect(body).toMatchObject({ dispute_opened: true });
      const output = (await scene.api.get(`/v1/jobs/${id}/output`)).body;
      const listed = await scene.arbitersList(stack.deploymentFile);
      const [gateway] = (await scene.pool.query("SELECT gateway FROM job WHERE job_id = $1", [id])).rows;
      expect(listed.find(({ job_id }) => job_id === id)).toMatchObject({
        received_hash: `0x${OTHER.slice(7)}`,
        delivery: {
          sent_hash: `0x${hashOf(output.content).slice(7)}`,
          complete: true,
          signed_by: getAddress(gateway.gateway),
        },
        to_read: null,
      });
    }
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

  it("is in time up to 60 s after the final token, and a millisecond later too late", async () => {
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

describe("nothing to dispute", () => {
  it("is a job of somebody else or of nobody: 404 job_not_found", async () => {
    const { id } = await scene.settledJob(MODEL);
    const stranger = privateKeyToAddress(generatePrivateKey());
    const other = apiClient(stack, await new Keys(scene.pool).regenerate(stranger));
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

it("outcomes are counted for the operator", async () => {
  const text = await (await fetch(`${stack.info.base_url}/metrics`)).text();
  for (const outcome of ["opened", "equal", "expired", "already_open"])
    expect(text).toMatch(new RegExp(`gateway_disputes_total\\{outcome="${outcome}"\\} [1-9]`));
});

it("a hash taken with a line break opens the dispute, and the note says so", async () => {
  for (const end of ["\n", "\r\n"]) {
    const { id, text } = await scene.settledJob(MODEL);
    const { body } = await scene.dispute(id, hashOf(text + end));
    expect(body).toMatchObject({ dispute_opened: true, your_hash: hashOf(text + end), worker_hash: hashOf(text) });
    expect(body.note).toMatch(/line break at its end/);
  }
});
