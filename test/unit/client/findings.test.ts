import { expect, it } from "vitest";
import { chargeLine, type JobReport } from "../../../client/findings.ts";
import { Checks, wrongFields } from "../../../verify/checks.ts";

const report = { jobId: "job_1", holds: true, status: "settled", creditsLocked: 8, creditsCharged: 2 } as JobReport;

it("prints a line for a charge that holds, and the findings of one that does not", () => {
  expect(chargeLine(report)).toBe(
    "HOLDS job_1: 2 of 8 locked credits charged, for the text that its worker signed (settled)",
  );
  expect(chargeLine({ ...report, holds: false })).toBeNull();
  expect(chargeLine({ ...report, status: "failed", creditsCharged: 0 })).toBeNull();
});

it("quotes what a service sent on the finding's own line, and not without an end", () => {
  const checks = new Checks();
  const worker = "0x\u009b1A";
  const model = `x\r\n\u001b[2KHOLDS job_1: ${"y".repeat(5_000)}`;
  checks.note("reply.names", wrongFields("reply", { model }, { model: "m" }), "");
  checks.add("proof.signature", false, "", `not signed by ${worker}`);
  const [names, signature] = checks.list.map(({ says }) => says);
  expect(names).toMatch(/^reply\.model is x\\u000d\\u000a\\u001b\[2kholds job_1: y+…, it should be m$/);
  expect(names?.length).toBeLessThan(250);
  expect(signature).toBe("not signed by 0x\\u009b1A");
});
