/** `GET /v1/jobs/{job_id}/output`: nobody pays for a failed job, because its client cannot have the answer. */
import { expect, it } from "vitest";
import type { StoredJob } from "../../../../api/db/jobs.ts";
import { type JobObject, jobObject } from "../../../../api/jobs/job-reader.ts";
import { KeptAnswers } from "../../../../api/jobs/kept-answers.ts";
import { getJobOutputRoute } from "../../../../api/routes/jobs.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { ESCROW, storedJob } from "../../../support/fake-gateway.ts";
import { signingWorker } from "../../support/jobs.ts";

const worker = signingWorker();
const TEXT = "The whole answer.";

/** What a client gets for a job in that state, which has a stored answer. */
async function ask(state: StoredJob["state"], handOut = true, hasAnswer = true): Promise<unknown[]> {
  const jobId = newJobId();
  // Its gateway was killed between the answer's write and the settlement's: the next one returned the credits.
  const completion = hasAnswer ? await worker.complete(jobId, TEXT, { completedAt: 1 }) : null;
  const failure = "the gateway ended";
  const stored = storedJob({ jobId, state, worker: worker.signer, completion, countedTokens: 4, failure });
  const job = jobObject({ row: null, stored }, ESCROW) as JobObject;
  const jobReader = { get: async () => ({ id: jobId, job, stored, row: null }), list: () => expect.unreachable() };
  const store = { output: async () => Buffer.from("sealed"), handOut: async () => handOut };
  const kept = new KeptAnswers(store, { decrypt: () => TEXT });
  const sent: unknown[] = [];
  const response = {
    once: () => {},
    setHeader: () => {},
    json: (body: unknown) => void sent.push(body),
    status: () => response,
  };
  const request = { params: { job_id: job.id }, client: { wallet: worker.signer } };
  const [handle] = getJobOutputRoute.handlers({ jobReader, store, kept });
  await handle?.(request as never, response as never, () => {});
  return sent;
}

it.each(["failed", "refunded"] as const)("of a job that was %s without a charge there is none", async (status) => {
  await expect(ask(status)).rejects.toMatchObject({ code: "output_not_found" });
});

it("of a job that is not settled is handed out only if it will be charged", async () => {
  expect(await ask("settling", true)).toMatchObject([{ content: TEXT }]);
  await expect(ask("settling", false)).rejects.toMatchObject({ code: "job_not_settled" });
  // Its worker proved it and withholds it: the client may dispute the charge.
  await expect(ask("settling", false, false)).rejects.toMatchObject({ code: "output_not_found" });
});
