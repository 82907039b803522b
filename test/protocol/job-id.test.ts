import { describe, expect, it } from "vitest";
import { fromApiJobId, newJobId, toApiJobId } from "../../protocol/job-id.ts";

describe("job id", () => {
  it("is a UUIDv7 of its time", () => {
    const id = newJobId(0x0190_1234_5678);
    expect(id).toMatch(/^0x019012345678[0-9a-f]{20}$/);
    // Version 7 in the 13th digit, variant 10xx in the 17th.
    expect(id.charAt(2 + 12)).toBe("7");
    expect(id.charAt(2 + 16)).toMatch(/[89ab]/);
  });

  it("grows with time and is never the same twice", () => {
    expect(newJobId(1_000) < newJobId(1_001)).toBe(true);
    expect(new Set(Array.from({ length: 1_000 }, () => newJobId(5)))).toHaveProperty("size", 1_000);
  });

  it("goes to the API's form and back", () => {
    const id = newJobId();
    expect(toApiJobId(id)).toMatch(/^job_[0-9a-f]{32}$/);
    expect(fromApiJobId(toApiJobId(id))).toBe(id);
    expect(toApiJobId(`0x${id.slice(2).toUpperCase()}`)).toBe(toApiJobId(id));
  });

  it.each([
    "",
    "job_",
    "job_12",
    `job_${"g".repeat(32)}`,
    `job_${"A".repeat(32)}`,
    `JOB_${"a".repeat(32)}`,
    `job_${"a".repeat(33)}`,
    "a".repeat(32),
  ])("%j is none", (text) => {
    expect(fromApiJobId(text)).toBeNull();
  });

  it("of another length is a mistake of the caller", () => {
    expect(() => toApiJobId("0x12")).toThrow(RangeError);
  });
});
