/** How long a job's answer took: by this service's clock where the blocks bear it out, else by the blocks. */
import type { Hex } from "viem";
import { expect, it } from "vitest";
import { answerSeconds } from "../../../../api/jobs/job-reader.ts";
import { storedJob } from "../../../support/fake-gateway.ts";
import { indexedJob } from "../../support/jobs.ts";

const ASKED = Date.UTC(2026, 5, 10, 12);
const LOCKED = ASKED / 1_000 + 1;
/** An id made at that time: its first 48 bits are milliseconds. */
const JOB: Hex = `0x${ASKED.toString(16).padStart(12, "0")}${"0".repeat(20)}`;

/** A job that the index saw answered after so many seconds, and that this service measured to the final token in so many ms. */
const secondsOf = (byBlocks: number | null, measured: number | null | "not stored") =>
  answerSeconds({
    row: indexedJob({ createdAt: LOCKED, answeredAt: byBlocks === null ? null : LOCKED + byBlocks }),
    stored:
      measured === "not stored"
        ? null
        : storedJob({ jobId: JOB, finalTokenAt: measured === null ? null : new Date(ASKED + measured) }),
  });

it.each([
  ["measured to the millisecond", 1, 1_234, 1.234],
  ["measured, at most five seconds off the blocks", 3, 8_000, 8],
  ["by the blocks: a clock was further off", 3, 8_001, 3],
  ["by the blocks: the id is from after the answer", 0, -1, 0],
  ["by the blocks: nothing was measured", 2, null, 2],
  ["by the blocks: another service's job", 2, "not stored", 2],
  ["not known: there is no answer by the chain yet", null, 1_234, null],
] as const)("is %s", (_, byBlocks, measured, seconds) => {
  expect(secondsOf(byBlocks, measured)).toBe(seconds);
});
