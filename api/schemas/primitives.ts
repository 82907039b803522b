import { z } from "zod";
import { JOB_STATES } from "../../protocol/job-status.ts";
import { TIERS } from "../../protocol/tiers.ts";

/** Values that several resources share, with the meaning and form that the API reference shows. */

export const jobId = z
  .string()
  .regex(/^job_[0-9a-f]{32}$/)
  .meta({ description: "Job id: `job_` and 32 hex digits.", examples: ["job_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e"] });

export const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .meta({
    description: "Address with its EIP-55 checksum.",
    examples: ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"],
  });

export const txHash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/)
  .meta({ description: "Transaction hash.", examples: [`0x${"5e".repeat(32)}`] });

export const contentHash = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/)
  .meta({ description: "SHA-256 of a text, as `sha256:<hex>`.", examples: [`sha256:${"b1".repeat(32)}`] });

export const timestamp = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ description: "ISO 8601, UTC.", examples: ["2026-01-31T12:00:00.000Z"] });

export const tier = z.enum(TIERS).meta({ description: "Price tier of the model.", examples: ["standard"] });

export const jobState = z.enum(JOB_STATES).meta({
  description:
    "`pending`: credits are locked, a worker is being found. `processing`: a worker acknowledged. `settling`: the proof is " +
    "on its way to the chain. `settled`: the worker is paid. `failed`: ended without an answer, nothing charged. `refunded`: " +
    "timed out, credits returned. `disputed`: arbitration is pending.",
});

export const count = (description: string, example?: number) =>
  z
    .int()
    .min(0)
    .meta({ description, ...(example === undefined ? {} : { examples: [example] }) });

export const usdg = z
  .number()
  .min(0)
  .meta({ description: "Stablecoin value: credits / 100.", examples: [0.08] });

export const modelId = z
  .string()
  .min(1)
  .meta({ description: "Model id.", examples: ["qwen3-8b"] });
