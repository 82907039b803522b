import type { Address, Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { Tier } from "../../protocol/tiers.ts";

/** A job whose lock is about to be sent. */
export type NewJob = {
  jobId: Hex;
  wallet: Address;
  gateway: Address;
  model: string;
  tier: Tier;
  /** Chain time before which the lock must be mined. */
  validUntil: number;
  creditsLocked: number;
};

/**
 * Statement that writes new jobs, given as JSON in the parameter. A job that is there already stays as it is: its lock goes out a
 * second time, in another transaction.
 */
export const insertJobs = (parameter: `$${number}`): string =>
  `INSERT INTO job (job_id, wallet, gateway, model, tier, state, valid_until, credits_locked)
   SELECT job_id, wallet, gateway, model, tier, 'locking', valid_until, credits_locked
   FROM jsonb_to_recordset(${parameter}::jsonb) AS new
     (job_id text, wallet text, gateway text, model text, tier text, valid_until bigint, credits_locked integer)
   ON CONFLICT (job_id) DO NOTHING`;

/** The parameter of `insertJobs`. */
export const newJobsJson = (jobs: readonly NewJob[]): string =>
  JSON.stringify(
    jobs.map(({ jobId, wallet, gateway, model, tier, validUntil, creditsLocked }) => ({
      job_id: toApiJobId(jobId),
      wallet: wallet.toLowerCase(),
      gateway: gateway.toLowerCase(),
      model,
      tier,
      valid_until: validUntil,
      credits_locked: creditsLocked,
    })),
  );
