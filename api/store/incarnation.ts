import type pg from "pg";
import type { Logger } from "pino";
import { transaction } from "./database.ts";

/** What tells one deployment on one chain from any other. */
export type Incarnation = { chainId: number; startBlockHash: string; contracts: { InferenceEscrow: string } };

/** The incarnation as one text. */
export function incarnationName({ chainId, startBlockHash, contracts }: Incarnation): string {
  return `${chainId}:${startBlockHash}:${contracts.InferenceEscrow.toLowerCase()}`;
}

const DEV_CHAIN_ID = 31_337;

/**
 * Compares the chain with the one this database worked on. A local development chain can be lost and deployed anew: what was
 * sent to the old one must not be sent to the new one, and its unfinished jobs are gone. Keys stay. Where money is real, another deployment in the same database is refused.
 */
export async function recognizeChain(pool: pg.Pool, deployment: Incarnation, logger: Logger): Promise<void> {
  const { chainId } = deployment;
  const name = incarnationName(deployment);
  await transaction(pool, async (client) => {
    await client.query("LOCK TABLE incarnation");
    const known = await client.query<{ name: string }>("SELECT name FROM incarnation");
    const before = known.rows[0]?.name;
    if (before !== undefined && before !== name && chainId !== DEV_CHAIN_ID) {
      throw new Error(
        `This database holds the jobs of ${before}, the deployment file names ${name}: use another database.`,
      );
    }
    if (before !== name) {
      await client.query("DELETE FROM incarnation");
      await client.query("INSERT INTO incarnation (name) VALUES ($1)", [name]);
    }
    if (before !== undefined && before !== name) {
      const transactions = await client.query("DELETE FROM chain_transaction");
      const jobs = await client.query("DELETE FROM job");
      logger.warn(
        { before, now: name, transactions: transactions.rowCount, jobs: jobs.rowCount },
        "this is another chain than before: transactions and jobs of the old one are dropped, keys are kept",
      );
    }
  });
}
