import { appendFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseEther } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { answerHash } from "../../protocol/answer-hash.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { gateway, newWorker, startChain, type TestChain, type TestWorker } from "./support/chain.ts";
import { type Daemon, startDaemon } from "./support/daemon.ts";
import { complete, dispatch, fetchOutput, lockJob, signAssignment } from "./support/dispatch.ts";
import { until } from "./support/processes.ts";

let chain: TestChain;
let worker: TestWorker;
let daemon: Daemon;

beforeAll(async () => {
  // Nothing here waits for the other windows to end: a slow machine has all their time.
  chain = await startChain({ finalization: 3 });
  worker = await newWorker(generatePrivateKey(), ["qwen3-8b"]);
  await chain.register([worker]);
  daemon = await startDaemon(chain, worker, { WORKER_TOKENS_PER_SECOND: "10" });
});

afterAll(async () => {
  await daemon?.end("SIGTERM");
  await chain?.stop();
});

it("after kill -9 the same signed answer is paid, and nothing signed twice", async () => {
  await chain.rpc.setBalance({ address: worker.address, value: parseEther("1") });
  const signed = await lockJob(chain, worker, { prompt: "Survive [[tokens:20]]" });
  const streamed = await dispatch(worker, signed);
  const completed = await lockJob(chain, worker, { prompt: "[[tokens:5]]" });
  const answered = await dispatch(worker, completed);
  const broken = await lockJob(chain, worker, { prompt: "[[tokens:300]]" });
  const running = dispatch(worker, broken).catch((error: unknown) => error);
  const { jobId } = broken.assignment;
  await until("it runs", async () => daemon.logs().some((line) => line.msg === "job taken" && line.jobId === jobId));
  await daemon.end("SIGKILL");
  await running;
  // A crash in the middle of a write leaves half a record at the end of the log.
  const jobs = join(chain.folder, worker.address, "jobs");
  const log = (await readdir(jobs)).find((name) => name.endsWith(".log")) as string;
  await appendFile(join(jobs, log), Buffer.from("5fa1c30e40000156010000000000000001000000011b", "hex"));
  // Its gateway settles one job before the worker could prove it: the answer of a proven job is kept for ten minutes.
  await complete(chain, answered);
  // Nothing is settled, and so erased, before the answer was asked for.
  await chain.rpc.setAutomine(false);
  daemon = await startDaemon(chain, worker, { WORKER_SELF_SETTLE_AFTER: "0" });

  const { status, body } = await fetchOutput(chain, worker, signed, gateway);
  expect(status).toBe(200);
  expect(body).toMatchObject({ ...streamed.completed, text: streamed.text });
  for (const attempt of [1, 2]) {
    const assignment = { ...signed.assignment, attempt };
    const signature = await signAssignment(chain, assignment);
    const again = { ...signed, assignment, signature, request: { ...signed.request, seed: 5 } };
    expect(await dispatch(worker, again)).toMatchObject({ status: 409, refusal: "already_taken", names: [] });
  }
  expect(await dispatch(worker, broken)).toMatchObject({ status: 409, refusal: "already_taken" });
  const missing = { status: 404, body: { error: { code: "no_output" } } };
  expect(await fetchOutput(chain, worker, broken, gateway)).toMatchObject(missing);

  await chain.rpc.setAutomine(true);
  await chain.rpc.mine({ blocks: 1 });
  const state = async () => (await chain.jobOf(signed.assignment.jobId)).status;
  await until("proven and finalized", async () => (await state()) === ChainStatus.Settled);
  const about = { ...chain.escrow, eventName: "JobSettled", args: { jobId: signed.assignment.jobId } } as const;
  const [settled] = await chain.rpc.getContractEvents({ ...about, fromBlock: 0n });
  expect(settled?.args.proofHash).toBe(answerHash(streamed.text));
  // What its gateway has settled nobody will ask for.
  const erased = { msg: "answer and completion erased", jobId: completed.assignment.jobId };
  await until("it is erased", async () =>
    daemon.logs().some(({ msg, jobId }) => msg === erased.msg && jobId === erased.jobId),
  );
  expect((await fetchOutput(chain, worker, completed, gateway)).status).toBe(404);
});
