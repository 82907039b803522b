/** What a client may type to find a job of its own. */
import { expect, it } from "vitest";
import { newJobId, toApiJobId } from "../../../../protocol/job-id.ts";
import { dayRange, idRange, within } from "../../../../web/src/pages/jobs/id-range.ts";

const id = "0198c0de5f7a7c3e9b1d2f3a4b5c6d7e";

it.each([`job_${id}`, id, `0x${id}`, ` JOB_${id.toUpperCase()} `, "0198c0de-5f7a-7c3e-9b1d-2f3a4b5c6d7e"])(
  "%s is one job",
  (text) => {
    expect(idRange(text)).toEqual({ after: `job_${id.slice(0, -1)}d`, before: `job_${id.slice(0, -1)}f` });
  },
);

it("the beginning of an id is every job that begins so", () => {
  expect(idRange("job_0198c")).toEqual({ after: `job_0198b${"f".repeat(27)}`, before: `job_0198d${"0".repeat(27)}` });
  expect(idRange("0")).toEqual({ after: `job_${"0".repeat(32)}`, before: `job_1${"0".repeat(31)}` });
  expect(idRange("f")).toEqual({ after: `job_e${"f".repeat(31)}`, before: `job_${"f".repeat(32)}` });
});

it.each(["", "job_", "hello", `${id}0`, "job_0198%"])("%j is no id", (text) => {
  expect(idRange(text)).toBeNull();
});

it("days are the ids that were made in them, by UTC", () => {
  const isWithin = (time: string, from: string, to: string) => {
    const range = dayRange(from, to);
    const made = toApiJobId(newJobId(Date.parse(time)));
    return range !== null && made > range.after && made < range.before;
  };
  expect(isWithin("2026-11-22T00:00:00.000Z", "2026-11-22", "2026-11-22")).toBe(true);
  expect(isWithin("2026-11-22T23:59:59.999Z", "2026-11-22", "2026-11-22")).toBe(true);
  expect(isWithin("2026-11-21T23:59:59.999Z", "2026-11-22", "")).toBe(false);
  expect(isWithin("2026-11-23T00:00:00.000Z", "2026-11-22", "")).toBe(true);
  expect(isWithin("2026-11-23T00:00:00.000Z", "", "2026-11-22")).toBe(false);
  expect(dayRange("", "")).toBeNull();
  expect(dayRange("soon", "")).toBeNull();
});

it("an id within days is in both", () => {
  const days = dayRange("2026-11-22", "2026-11-22");
  expect(within(idRange("0"), null)).toEqual(idRange("0"));
  expect(within(null, days)).toEqual(days);
  expect(within(idRange("01a"), days)).toEqual(days);
});
