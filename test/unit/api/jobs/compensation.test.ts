/** A compensation that the treasury cannot pay at once is said as what it is: to readers of the job, and to webhooks. */
import { describe, expect, it } from "vitest";
import { jobObject } from "../../../../api/jobs/job-reader.ts";
import { newJobId, toApiJobId } from "../../../../protocol/job-id.ts";
import { eventBody } from "../../../../webhooks/events.ts";
import { indexedJob } from "../../support/jobs.ts";

const id = newJobId();
const escrow = `0x${"e5".repeat(20)}`;
const hash = `0x${"ab".repeat(32)}` as const;

describe("a job", () => {
  const shown = (compensationPaid: number, compensationOwed: number) => {
    const row = indexedJob({ id, status: "settled", compensationPaid, compensationOwed });
    return jobObject({ row, stored: null }, escrow)?.compensation;
  };

  it("says what is due, paid and still to come", () => {
    expect(shown(50_000, 30_000)).toEqual({ credits_due: 8, credits_paid: 5, credits_outstanding: 3 });
    expect(shown(0, 80_000)).toEqual({ credits_due: 8, credits_paid: 0, credits_outstanding: 8 });
    expect(shown(4_000, 0)).toEqual({ credits_due: 0.4, credits_paid: 0.4, credits_outstanding: 0 });
    expect(shown(0, 0)).toBeUndefined();
  });
});

describe("credit.topup", () => {
  const told = (kind: string, data: object) =>
    JSON.parse(
      eventBody(`evt_${"0".repeat(32)}`, "credit.topup", 1_800_000_000, {
        kind,
        blockNumber: 7,
        txHash: hash,
        threshold: 100,
        data: { usdg_value: 0.05, free: 20, ...data },
      }),
    ).data;

  it("of a part says what is still to come", () => {
    const part = { job_id: toApiJobId(id), credits_compensated: 5, credits_due: 8, credits_outstanding: 3 };
    expect(told("job.compensated", part)).toMatchObject({
      source: "compensation",
      credits_added: 5,
      credits_due: 8,
      credits_outstanding: 3,
    });
  });

  it("of a deposit has nothing to come", () => {
    expect(told("account.deposited", { credits: 5 })).toMatchObject({ credits_due: null, credits_outstanding: null });
  });
});
