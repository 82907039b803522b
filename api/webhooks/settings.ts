/** The wallet's threshold for `credit.low` (specification, "Limits"). */
import { z } from "zod";
import { blockNow, type WebhookContext } from "./context.ts";

export const DEFAULT_LOW_CREDIT_THRESHOLD = 100;

/** Body that sets the threshold: whole credits; 0 turns the event off. */
export const thresholdSchema = z.object({ threshold: z.int().min(0).max(1_000_000_000) });

/** The threshold in credits. */
export async function getLowCreditThreshold({ pool }: Pick<WebhookContext, "pool">, wallet: string): Promise<number> {
  const { rows } = await pool.query("SELECT low_credit_threshold FROM wallet_setting WHERE wallet = $1", [
    wallet.toLowerCase(),
  ]);
  return rows[0]?.low_credit_threshold ?? DEFAULT_LOW_CREDIT_THRESHOLD;
}

/** Sets the threshold for what is mined from now on: what was before stays judged by the old one. Never fires by itself. */
export async function setLowCreditThreshold(context: WebhookContext, wallet: string, threshold: number): Promise<void> {
  const { number, timestamp } = await blockNow(context);
  await context.pool.query(
    `INSERT INTO wallet_setting AS s (wallet, low_credit_threshold, threshold_block, threshold_time) VALUES ($1, $2, $3, $4)
     ON CONFLICT (wallet) DO UPDATE SET low_credit_threshold = $2, threshold_block = $3, threshold_time = $4,
       threshold_before = CASE WHEN s.threshold_block < $3 THEN s.low_credit_threshold ELSE s.threshold_before END`,
    [wallet.toLowerCase(), threshold, number, timestamp],
  );
}
