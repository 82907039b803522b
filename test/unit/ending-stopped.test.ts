/** An end of a job that cannot be sent, because the gateway stops: its client still hears what became of its request. */
import { expect, it } from "vitest";
import { NotSent } from "../../api/chain/pipeline.ts";
import { ApiError } from "../../api/errors.ts";
import { refuse, timeOut } from "../../api/jobs/ending.ts";
import { newJobId } from "../../protocol/job-id.ts";
import { FailureReason } from "../../protocol/job-status.ts";
import { fakeGateway } from "../support/fake-gateway.ts";

const submit = () => {
  const mined = Promise.reject(new NotSent("the gateway is stopping"));
  mined.catch(() => {});
  return { signed: mined, sent: mined, mined };
};
const context = fakeGateway({ pipeline: { congested: false, submit } });
const job = { jobId: newJobId(), credits: 8, worker: undefined };

it("504 job_timeout for a job whose time was over", async () => {
  await expect(timeOut(context, job)).resolves.toMatchObject({ code: "job_timeout" });
});

it("the error of its cause for one that failed", async () => {
  const error = new ApiError("no_workers_available", "None.");
  const cause = { reason: FailureReason.RoutingFailed, why: "none", error };
  await expect(refuse(context, job, cause)).resolves.toBe(error);
});
