import { expect, it } from "vitest";
import { chargeLine, type JobReport } from "../../../client/findings.ts";

const report = { jobId: "job_1", holds: true, status: "settled", creditsLocked: 8, creditsCharged: 2 } as JobReport;

it("prints a line for a charge that holds, and the findings of one that does not", () => {
  expect(chargeLine(report)).toBe(
    "HOLDS job_1: 2 of 8 locked credits charged, for the text that its worker signed (settled)",
  );
  expect(chargeLine({ ...report, holds: false })).toBeNull();
  expect(chargeLine({ ...report, status: "failed", creditsCharged: 0 })).toBeNull();
});
