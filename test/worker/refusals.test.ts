import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { generatePrivateKey } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  client,
  gateway,
  newWorker,
  otherGateway,
  startChain,
  type TestChain,
  type TestWorker,
} from "./support/chain.ts";
import { type Daemon, startDaemon } from "./support/daemon.ts";
import { acknowledge, dispatch, lockJob, prepare, signAssignment, ticketHeader } from "./support/dispatch.ts";

let chain: TestChain;
let worker: TestWorker;
let daemon: Daemon;

beforeAll(async () => {
  chain = await startChain();
  await chain.admitOtherOperator();
  worker = await newWorker(generatePrivateKey(), ["llama-3.3-70b-instruct", "qwen3-8b"]);
  await chain.register([worker]);
  daemon = await startDaemon(chain, worker);
});

afterAll(async () => {
  await daemon?.end("SIGTERM");
  await chain?.stop();
});

describe("a dispatch is refused", () => {
  const refused = async (job: Awaited<ReturnType<typeof prepare>>) => {
    const { status, refusal } = await dispatch(worker, job);
    return [status, refusal];
  };

  it("without a lock", async () => {
    expect(await refused(await prepare(chain, worker))).toEqual([409, "not_locked"]);
  });

  it("for another worker", async () => {
    const job = await lockJob(chain, worker, { assignment: { worker: gateway.address } });
    expect(await refused(job)).toEqual([403, "not_assigned"]);
  });

  it("when somebody who is no gateway signed it", async () => {
    const job = await lockJob(chain, worker);
    expect(await refused({ ...job, signature: await signAssignment(chain, job.assignment, client) })).toEqual([
      403,
      "not_assigned",
    ]);
  });

  it("when a gateway of another operator than the job's signed it", async () => {
    const job = await lockJob(chain, worker, { signer: otherGateway });
    expect(await refused(job)).toEqual([403, "not_assigned"]);
  });

  it("when it was changed after signing", async () => {
    const job = await lockJob(chain, worker);
    expect(await refused({ ...job, assignment: { ...job.assignment, attempt: 2 } })).toEqual([403, "not_assigned"]);
  });

  it("when it has expired by the chain's time", async () => {
    const job = await lockJob(chain, worker, { assignment: { acknowledgeBy: 1_000 } });
    expect(await refused(job)).toEqual([403, "not_assigned"]);
  });

  it("for a model that is not hosted, or not the locked one", async () => {
    expect(await refused(await lockJob(chain, worker, { model: "qwen3-14b" }))).toEqual([404, "unknown_model"]);
    expect(await refused(await lockJob(chain, worker, { model: "qwen3-8b" }))).toEqual([400, "bad_request"]);
  });

  it("when the lock does not cover max_tokens", async () => {
    const job = await lockJob(chain, worker, { request: { max_tokens: 4_000 }, lockedTokens: 500 });
    expect(await refused(job)).toEqual([400, "bad_request"]);
  });

  it("a second time, also while the first still runs", async () => {
    const job = await lockJob(chain, worker);
    const results = await Promise.all([dispatch(worker, job), dispatch(worker, job)]);
    expect(results.map((result) => result.status).sort()).toEqual([200, 409]);
    expect(await refused(job)).toEqual([409, "already_taken"]);
    const again = { ...job.assignment, attempt: 2 };
    expect(await refused({ ...job, assignment: again, signature: await signAssignment(chain, again) })).toEqual([
      409,
      "already_taken",
    ]);
  });

  it("under an attempt that the chain has passed", async () => {
    const stale = await lockJob(chain, worker);
    const second = await newWorker(generatePrivateKey(), worker.models);
    await chain.register([worker, second]);
    const other = await startDaemon(chain, second);
    try {
      const assignment = { ...stale.assignment, worker: second.address, attempt: 2 };
      const job = { ...stale, assignment, signature: await signAssignment(chain, assignment) };
      const { acknowledgement } = await dispatch(second, job);
      await acknowledge(chain, job, acknowledgement ?? "0x");
      expect(await refused(stale)).toEqual([409, "not_locked"]);
    } finally {
      await other.end("SIGTERM");
    }
  });

  it("when the job is over", async () => {
    const job = await lockJob(chain, worker);
    await chain.send(gateway, "fail", [job.assignment.jobId, 0]);
    expect(await refused(job)).toEqual([409, "not_locked"]);
  });

  it("before its body is there, unless a gateway signed the header's assignment", async () => {
    const locked = await lockJob(chain, worker);
    const foreign = { ...locked, signature: await signAssignment(chain, locked.assignment, client) };
    const past = await prepare(chain, worker, { assignment: { acknowledgeBy: 1_000 } });
    const cases = [
      [{}, 400],
      [{ "x-assignment": "{" }, 400],
      [ticketHeader(foreign), 403],
      [ticketHeader(past), 403],
    ] as const;
    for (const [headers, expected] of cases) {
      const call = request(`${worker.endpoint}/jobs`, {
        method: "POST",
        headers: { ...headers, "content-length": "8000000" },
      });
      call.flushHeaders();
      const [response] = (await once(call, "response")) as [IncomingMessage];
      expect(response.statusCode).toBe(expected);
      call.destroy();
    }
  });

  it("when it is malformed", async () => {
    const ticket = ticketHeader(await lockJob(chain, worker));
    const post = (body: string) =>
      fetch(`${worker.endpoint}/jobs`, {
        method: "POST",
        headers: { "content-type": "application/json", ...ticket },
        body,
      });
    const bodies = [
      ["{", 400],
      ["[]", 400],
      ['{"assignment":1}', 400],
      [JSON.stringify({ filler: "x".repeat(9_000_000) }), 400],
    ] as const;
    for (const [body, status] of bodies) {
      const response = await post(body);
      expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
        status,
        "bad_request",
      ]);
    }
  });
});
