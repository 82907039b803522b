/** A worker and its gateways: jobs from offer to settlement, offers that it refuses, questions without a job. Its node is behind a password. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerHash } from "../../protocol/answer-hash.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { escrowDomain, jobMessageTypes } from "../../protocol/messages.ts";
import { OPERATOR } from "../../scripts/dev/wallets.ts";
import { type GuardedNode, passTo, startGuardedNode } from "../support/guarded-node.ts";
import {
  client,
  gateway,
  newWorker,
  operatorAdmin,
  otherGateway,
  secondGateway,
  startChain,
  type TestChain,
  type TestWorker,
} from "./support/chain.ts";
import { type Daemon, startDaemon } from "./support/daemon.ts";
import {
  acknowledge,
  askTrial,
  complete,
  dispatch,
  fetchOutput,
  type JobOptions,
  lockJob,
  prepare,
  signAssignment,
  ticketHeader,
} from "./support/dispatch.ts";
import { until } from "./support/processes.ts";

let chain: TestChain;
let worker: TestWorker;
let daemon: Daemon;
let node: GuardedNode;

beforeAll(async () => {
  chain = await startChain();
  await chain.admitOtherOperator();
  worker = await newWorker(generatePrivateKey(), ["llama-3.3-70b-instruct", "qwen3-8b"]);
  await chain.register([worker]);
  node = await startGuardedNode(passTo(chain.rpcUrl));
  daemon = await startDaemon(chain, worker, { RPC_URL: node.url, WORKER_LOG_LEVEL: "debug" });
});

afterAll(async () => {
  await daemon?.end("SIGKILL");
  await node?.stop();
  await chain?.stop();
});

describe("a dispatched job", () => {
  it("streams an answer that the escrow accepts, and erases it afterwards", async () => {
    const job = await lockJob(chain, worker, {
      prompt: "Explain escrow [[tokens:700]]",
      request: { max_tokens: 4_000 },
    });
    const streamed = await dispatch(worker, job);

    expect(streamed.names[0]).toBe("acknowledged");
    expect(streamed.names.at(-1)).toBe("completed");
    expect(new Set(streamed.names.slice(1, -1))).toEqual(new Set(["delta"]));
    expect(streamed.completed?.finish_reason).toBe("stop");
    expect(streamed.completed?.completion).toMatchObject({ jobId: job.assignment.jobId, completionTokens: 700 });
    expect(streamed.completed?.completion.proofHash).toBe(answerHash(streamed.text));

    await complete(chain, streamed);
    expect(await chain.jobOf(job.assignment.jobId)).toMatchObject({
      status: ChainStatus.Settled,
      credits: 40,
      attempt: 1,
    });
    const output = async () => (await fetchOutput(chain, worker, job, gateway)).body;
    await until("the answer is erased", async () => (await output()).error?.code === "no_output");
  });

  it("cuts at max_tokens and says so", async () => {
    const job = await lockJob(chain, worker, { prompt: "[[tokens:900]]", request: { max_tokens: 100 } });
    const { completed } = await dispatch(worker, job);
    expect(completed).toMatchObject({ finish_reason: "length", completion: { completionTokens: 100 } });
  });

  it("carries an acknowledgement that the escrow accepts", async () => {
    const job = await lockJob(chain, worker);
    const { acknowledgement } = await dispatch(worker, job);
    await acknowledge(chain, job, acknowledgement ?? "0x");
    expect(await chain.jobOf(job.assignment.jobId)).toMatchObject({ status: ChainStatus.Acknowledged, attempt: 1 });
  });

  it("finishes though the gateway left, for its operator's gateways only", async () => {
    const job = await lockJob(chain, worker, { prompt: "[[tokens:1500]]" });
    await dispatch(worker, job, { leaveAfter: 1 });
    const { body } = await until("the output", async () => {
      const output = await fetchOutput(chain, worker, job, gateway);
      return output.status === 200 ? output : null;
    });
    expect(body.completion).toMatchObject({ completionTokens: 1500, proofHash: answerHash(body.text) });

    const foreign = { ...job, signature: await signAssignment(chain, job.assignment, otherGateway) };
    expect(await fetchOutput(chain, worker, foreign, otherGateway)).toMatchObject({ status: 403 });
    // Another gateway of the operator can end what the first one left, and has all that the chain asks for.
    const fellow = { ...job, signature: await signAssignment(chain, job.assignment, secondGateway) };
    expect(await fetchOutput(chain, worker, fellow, gateway)).toMatchObject({ status: 403 });
    const again = await fetchOutput(chain, worker, fellow, secondGateway);
    expect(again).toMatchObject({ status: 200, body: { text: body.text, completion: body.completion } });
    expect(again.body.acknowledgement.attempt).toBe(1);
    await acknowledge(chain, job, again.body.acknowledgement.signature);
    await complete(chain, { completed: body });
  });

  it("keeps an output from everybody but its gateway", async () => {
    const job = await lockJob(chain, worker);
    const streamed = await dispatch(worker, job);
    const withoutAccess = { status: 400, body: { error: { code: "bad_request", message: "invalid: access" } } };
    expect(await fetchOutput(chain, worker, job)).toMatchObject(withoutAccess);
    await acknowledge(chain, job, streamed.acknowledgement ?? "0x");
    expect(await fetchOutput(chain, worker, job)).toMatchObject(withoutAccess);
    expect(await fetchOutput(chain, worker, job, otherGateway)).toMatchObject({ status: 403 });
    expect(await fetchOutput(chain, worker, job, gateway)).toMatchObject({
      status: 200,
      body: { text: streamed.text },
    });
  });

  it("may be offered by any gateway of the operator that locked it", async () => {
    const job = await lockJob(chain, worker, { signer: secondGateway });
    const streamed = await dispatch(worker, job);
    expect(streamed.names.at(-1)).toBe("completed");
    await complete(chain, streamed);
  });

  it("dates an answer by a mined block, whatever its own clock says", async () => {
    const job = await lockJob(chain, worker);
    await chain.rpc.increaseTime({ seconds: 7 });
    await chain.rpc.mine({ blocks: 1 });
    const newest = Number((await chain.rpc.getBlock()).timestamp);
    const { completed } = await dispatch(worker, job);
    expect(completed?.completion.completedAt).toBe(newest);
    await complete(chain, { completed });
  });

  it("leaves neither prompt nor answer in the log", async () => {
    const job = await lockJob(chain, worker, { prompt: "the zanzibarian password is swordfish" });
    const { text } = await dispatch(worker, job);
    expect(text).toMatch(/zanzibarian|swordfish|password/);
    expect(daemon.output()).not.toMatch(/zanzibarian|swordfish/);
    expect(daemon.output()).not.toContain(worker.privateKey.slice(2));
  });
});

describe("a dispatch is refused", () => {
  const refused = async (job: Awaited<ReturnType<typeof prepare>>) => {
    const { status, refusal } = await dispatch(worker, job);
    return [status, refusal];
  };

  it("without a lock", async () => {
    expect(await refused(await prepare(chain, worker))).toEqual([409, "not_locked"]);
  });

  it("when it was changed after signing", async () => {
    const job = await lockJob(chain, worker);
    expect(await refused({ ...job, assignment: { ...job.assignment, attempt: 2 } })).toEqual([403, "not_assigned"]);
  });

  it.each<[string, JobOptions, number, string]>([
    ["for another worker", { assignment: { worker: gateway.address } }, 403, "not_assigned"],
    ["when somebody who is no gateway signed it", { signer: client }, 403, "not_assigned"],
    ["when a gateway of another operator than the job's signed it", { signer: otherGateway }, 403, "not_assigned"],
    ["when it has expired by the chain's time", { assignment: { acknowledgeBy: 1_000 } }, 403, "not_assigned"],
    ["for a model that is not hosted", { model: "qwen3-14b" }, 404, "unknown_model"],
    ["for another model than the locked one", { model: "qwen3-8b" }, 400, "bad_request"],
    ["beyond its lock", { request: { max_tokens: 4_000 }, lockedTokens: 500 }, 400, "bad_request"],
  ])("%s", async (_, options, ...refusal) => {
    expect(await refused(await lockJob(chain, worker, options))).toEqual(refusal);
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
    const assignment = { ...stale.assignment, worker: second.address, attempt: 2 };
    const job = { ...stale, assignment, signature: await signAssignment(chain, assignment) };
    const acknowledgement = await privateKeyToAccount(second.privateKey).signTypedData({
      domain: escrowDomain(chain.deployment.chainId, chain.deployment.contracts.InferenceEscrow),
      types: { Acknowledgement: jobMessageTypes.Acknowledgement },
      primaryType: "Acknowledgement",
      message: { jobId: assignment.jobId, attempt: 2 },
    });
    await acknowledge(chain, job, acknowledgement);
    expect(await refused(stale)).toEqual([409, "not_locked"]);
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

describe("a gateway's own question", () => {
  const model = "qwen3-8b";

  it("is answered by the model, without a job", async () => {
    const { status, body } = await askTrial(chain, worker, gateway, model);
    expect([status, body.text]).toEqual([200, expect.stringMatching(/\S/)]);
  });

  it("is refused to everybody else, and for a model that is not here", async () => {
    const stranger = await askTrial(chain, worker, client, model);
    expect([stranger.status, stranger.body.error?.code]).toEqual([403, "not_assigned"]);
    const unknown = await askTrial(chain, worker, gateway, "qwen3-14b");
    expect([unknown.status, unknown.body.error?.code]).toEqual([404, "unknown_model"]);
  });
});

describe("a gateway whose key has left its operator", () => {
  it("is offered nothing, and gets no answer of before", async () => {
    const job = await lockJob(chain, worker, { signer: secondGateway });
    await dispatch(worker, job);
    expect(await fetchOutput(chain, worker, job, secondGateway)).toMatchObject({ status: 200 });
    await chain.send(operatorAdmin, "rotateSigners", [OPERATOR, [], [], [secondGateway.address]]);
    const refused = await dispatch(worker, await lockJob(chain, worker, { signer: secondGateway }));
    expect([refused.status, refused.refusal]).toEqual([403, "not_assigned"]);
    expect(await fetchOutput(chain, worker, job, secondGateway)).toMatchObject({ status: 403 });
    const fellow = { ...job, signature: await signAssignment(chain, job.assignment) };
    expect(await fetchOutput(chain, worker, fellow, gateway)).toMatchObject({ status: 200 });
  });
});

describe("a job that is settled while the worker asks the chain about it", () => {
  it("is erased, although it still ran when the worker asked", async () => {
    const hasty = await newWorker(generatePrivateKey(), ["qwen3-8b"]);
    await chain.register([hasty]);
    const job = await lockJob(chain, hasty, { prompt: "[[tokens:200]]", request: { max_tokens: 200 } });
    const asked = Promise.withResolvers<void>();
    const settled = Promise.withResolvers<void>();
    const pass = passTo(chain.rpcUrl);
    let taken = false;
    const slow = await startGuardedNode(async (body) => {
      if (taken && body.includes(job.assignment.jobId.slice(2))) {
        asked.resolve();
        await settled.promise;
      }
      return pass(body);
    });
    const own = await startDaemon(chain, hasty, { RPC_URL: slow.url, WORKER_TOKENS_PER_SECOND: "200" });
    try {
      const onDelta = () => {
        taken = true;
      };
      const streamed = await dispatch(hasty, job, { onDelta });
      await asked.promise;
      await complete(chain, streamed);
      settled.resolve();
      const output = async () => (await fetchOutput(chain, hasty, job, gateway)).body;
      await until("the answer is erased", async () => (await output()).error?.code === "no_output");
    } finally {
      settled.resolve();
      await own.end("SIGKILL");
      await slow.stop();
    }
  });
});

describe("a chain whose clock is ahead of this machine's", () => {
  it("sets the time of completion", async () => {
    const ahead = Math.floor(Date.now() / 1000) + 5_000;
    await chain.rpc.setNextBlockTimestamp({ timestamp: BigInt(ahead) });
    const job = await lockJob(chain, worker, { assignment: { acknowledgeBy: ahead + 100 } });
    const streamed = await dispatch(worker, job);
    expect(streamed.completed?.completion.completedAt).toBeGreaterThanOrEqual(ahead);
    expect(streamed.completed?.completion.completedAt).toBeLessThan(ahead + 100);
    await complete(chain, streamed);
    expect((await chain.jobOf(job.assignment.jobId)).status).toBe(ChainStatus.Settled);
  });
});

// The last test: from here on the worker has no node.
it("says nothing of its node's secrets when the node turns it away", async () => {
  await dispatch(worker, await lockJob(chain, worker));
  const said = daemon.logs().length;
  node.refuse();
  const complaints = async () =>
    daemon
      .logs()
      .slice(said)
      .find(({ level }) => Number(level) >= 50);
  await until("the log complains", complaints, 60_000);
  for (const secret of node.secrets) expect(daemon.output()).not.toContain(secret);
});
