import { appendFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseEther } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { answerHash } from "../../protocol/answer-hash.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { gateway, newWorker, SHORT_WINDOWS, startChain, type TestChain, type TestWorker } from "./support/chain.ts";
import { type Daemon, startDaemon } from "./support/daemon.ts";
import { complete, dispatch, fetchOutput, lockJob, signAssignment } from "./support/dispatch.ts";
import { until } from "./support/processes.ts";

let chain: TestChain;
let worker: TestWorker;
let daemon: Daemon;

beforeAll(async () => {
  chain = await startChain(SHORT_WINDOWS);
  worker = await newWorker(generatePrivateKey(), ["qwen3-8b"]);
  await chain.register([worker]);
  daemon = await startDaemon(chain, worker);
});

afterAll(async () => {
  await daemon?.end("SIGTERM");
  await chain?.stop();
});

it("after kill -9 a signed answer is still there, the same, and nothing is signed twice", async () => {
  const job = await lockJob(chain, worker, { prompt: "Survive [[tokens:200]]" });
  const streamed = await dispatch(worker, job);
  await daemon.end("SIGKILL");
  // A crash in the middle of a write leaves half a record at the end of the log.
  const jobs = join(chain.folder, worker.address, "jobs");
  const log = (await readdir(jobs)).find((name) => name.endsWith(".log")) as string;
  await appendFile(join(jobs, log), Buffer.from("5fa1c30e40000156010000000000000001000000011b", "hex"));
  daemon = await startDaemon(chain, worker);

  const { status, body } = await fetchOutput(chain, worker, job, gateway);
  expect(status).toBe(200);
  expect(body).toMatchObject({ ...streamed.completed, text: streamed.text });
  for (const attempt of [1, 2]) {
    const assignment = { ...job.assignment, attempt };
    const again = {
      ...job,
      assignment,
      signature: await signAssignment(chain, assignment),
      request: { ...job.request, seed: 5 },
    };
    expect(await dispatch(worker, again)).toMatchObject({ status: 409, refusal: "already_taken", names: [] });
  }
  await complete(chain, { completed: body });
  await until("the answer is erased", async () => (await fetchOutput(chain, worker, job, gateway)).status === 404);
});

it("a worker that was killed while it generated does not take the job up again", async () => {
  await daemon.end("SIGTERM");
  daemon = await startDaemon(chain, worker, { WORKER_TOKENS_PER_SECOND: "10" });
  const job = await lockJob(chain, worker, { prompt: "[[tokens:300]]" });
  const broken = dispatch(worker, job).catch((error: unknown) => error);
  await until("it runs", async () => daemon.logs().some((line) => line.msg === "job taken"));
  await daemon.end("SIGKILL");
  await broken;
  daemon = await startDaemon(chain, worker);
  expect(await dispatch(worker, job)).toMatchObject({ status: 409, refusal: "already_taken" });
  expect(await fetchOutput(chain, worker, job, gateway)).toMatchObject({
    status: 404,
    body: { error: { code: "no_output" } },
  });
});

it("a worker that was killed before settlement is paid after its restart, without its gateway", async () => {
  await chain.rpc.setBalance({ address: worker.address, value: parseEther("1") });
  const job = await lockJob(chain, worker);
  const { text } = await dispatch(worker, job);
  await daemon.end("SIGKILL");
  daemon = await startDaemon(chain, worker, { WORKER_SELF_SETTLE_AFTER: "0" });
  await until(
    "proven and finalized",
    async () => (await chain.jobOf(job.assignment.jobId)).status === ChainStatus.Settled,
  );
  const [log] = await chain.rpc.getContractEvents({
    ...chain.escrow,
    eventName: "JobSettled",
    args: { jobId: job.assignment.jobId },
    fromBlock: 0n,
  });
  expect(log?.args.proofHash).toBe(answerHash(text));
});
