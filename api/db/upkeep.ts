import type pg from "pg";
import type { Logger } from "pino";
import { DEV_CHAIN_ID } from "../../protocol/deployment.ts";
import type { Cipher } from "../../shared/cipher.ts";
import { repeat } from "../../shared/repeat.ts";
import type { DisputeStore } from "./disputes.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import type { IncidentStore } from "./incidents.ts";
import { deleteJobs, type JobStore } from "./jobs.ts";
import { type Incarnation, incarnationName, transaction } from "./pool.ts";

/**
 * Binds the database to a deployment on one chain. What was signed for another one must not be sent to it, and job ids may repeat there. So a
 * database of another deployment is refused. On the development chain, where contracts change, its jobs and transactions are dropped instead;
 * keys and webhooks stay.
 */
export async function bindToDeployment(pool: pg.Pool, deployment: Incarnation, logger: Logger): Promise<void> {
  const name = incarnationName(deployment);
  await transaction(pool, async (client) => {
    await client.query("LOCK TABLE incarnation");
    const { rows } = await client.query<{ name: string }>("SELECT name FROM incarnation");
    const bound = rows[0]?.name;
    if (bound === name) return;
    if (bound !== undefined) {
      if (deployment.chainId !== DEV_CHAIN_ID) {
        throw new Error(
          `DATABASE_URL holds the jobs of ${bound}, DEPLOYMENT_FILE names ${name}: use another database.`,
        );
      }
      await client.query("DELETE FROM incarnation");
      await client.query("DELETE FROM chain_transaction");
      await client.query("DELETE FROM idempotency");
      await client.query("DELETE FROM dispute_request");
      const jobs = await deleteJobs(client);
      logger.warn(
        { bound, name, jobs },
        "these are other contracts than before: the old ones' jobs and transactions are dropped",
      );
    }
    await client.query("INSERT INTO incarnation (name) VALUES ($1)", [name]);
  });
}

/** Rows read at a time: an answer can have a hundred kilobytes and more. */
const PAGE = 50;

/** `context`: what a row's ciphertext is bound to, if that is not its id alone. */
type Encrypted = { table: string; id: string; column: string; cipher: Cipher; context?: (id: string) => string };
type Count = { renewed: number; unreadable: number };

/**
 * After a change of MASTER_KEY: encrypts everything anew that is still under one of OTHER_MASTER_KEYS, so that those can be taken
 * away. Goes on beside the gateway's work, in small pages; a row that is written meanwhile keeps what was written. Logs what it
 * came to; never rejects.
 */
export async function reencrypt(
  pool: pg.Pool,
  ciphers: { answers: Cipher; webhooks: Cipher },
  logger: Logger,
  stopping: () => boolean,
): Promise<void> {
  const all: Encrypted[] = [
    { table: "webhook", id: "id", column: "secret", cipher: ciphers.webhooks },
    { table: "webhook", id: "id", column: "old_secret", cipher: ciphers.webhooks },
    { table: "webhook", id: "id", column: "url", cipher: ciphers.webhooks, context: urlContext },
    { table: "job", id: "job_id", column: "output", cipher: ciphers.answers },
  ];
  const total: Count = { renewed: 0, unreadable: 0 };
  try {
    for (const one of all) {
      const { renewed, unreadable } = await renewTable(pool, one, logger, stopping);
      total.renewed += renewed;
      total.unreadable += unreadable;
    }
  } catch (error) {
    return logger.error({ err: error }, "re-encryption broke off: start this gateway again to go on with it");
  }
  if (stopping()) return;
  logger.warn(
    total,
    "everything readable is under MASTER_KEY now: once every gateway of this database has been started with it, OTHER_MASTER_KEYS can go",
  );
}

async function renewTable(
  pool: pg.Pool,
  { table, id, column, cipher, context = (one) => one }: Encrypted,
  logger: Logger,
  stopping: () => boolean,
): Promise<Count> {
  const count: Count = { renewed: 0, unreadable: 0 };
  let after = "";
  while (!stopping()) {
    const { rows } = await pool.query<{ id: string; data: Buffer }>(
      `SELECT ${id} AS id, ${column} AS data FROM ${table} WHERE ${id} > $1 AND ${column} IS NOT NULL ORDER BY ${id} LIMIT ${PAGE}`,
      [after],
    );
    for (const row of rows) {
      let renewed: Buffer | null;
      try {
        renewed = cipher.renew(row.data, context(row.id));
      } catch (error) {
        count.unreadable += 1;
        logger.error({ err: error, table, id: row.id }, "a row cannot be decrypted with any of the master keys");
        continue;
      }
      if (renewed === null) continue;
      const text = `UPDATE ${table} SET ${column} = $2 WHERE ${id} = $1 AND ${column} = $3`;
      const { rowCount } = await pool.query(text, [row.id, renewed, row.data]);
      count.renewed += rowCount ?? 0;
    }
    const last = rows.at(-1);
    if (last === undefined) break;
    after = last.id;
  }
  return count;
}

/**
 * The context to which the encryption binds a webhook's URL. The webhook's secret is bound to the plain id, so its ciphertext cannot stand
 * in for the URL.
 */
export const urlContext = (id: string): string => `${id} url`;

// ---------------------------------------------------------------- what has had its time

const INTERVAL_MS = 60_000;
/** Rows of ended jobs overlay the index and hold what a dispute needs; both are over long before this. */
const KEEP_ENDED_DAYS = 7;
/** Incidents of a worker count for this long in its public record. */
const KEEP_INCIDENTS_DAYS = 90;

type Stores = { jobs: JobStore; idempotency: IdempotencyStore; disputes: DisputeStore; incidents: IncidentStore };

/**
 * Erases each minute what has had its time; `others` by what they erase. One that fails keeps none of the others from its work. Returns how to
 * stop it, which resolves when the running round is over.
 */
export function startHousekeeping(
  { jobs, idempotency, disputes, incidents }: Stores,
  retentionHours: number,
  others: Record<string, () => Promise<unknown>>,
  logger: Logger,
): () => Promise<void> {
  const all: Record<string, () => Promise<unknown>> = {
    answers: () => jobs.eraseExpiredOutputs(),
    "rows of ended jobs": () => jobs.deleteEnded(KEEP_ENDED_DAYS),
    "idempotency keys": () => idempotency.prune(retentionHours),
    "requests for disputes": () => disputes.prune(KEEP_ENDED_DAYS),
    incidents: () => incidents.prune(KEEP_INCIDENTS_DAYS),
    ...others,
  };
  const round = async () => {
    for (const [what, erase] of Object.entries(all)) {
      try {
        await erase();
      } catch (error) {
        logger.warn({ err: error }, `${what} whose time is over could not be erased; the next minute tries again`);
      }
    }
  };
  return repeat(round, INTERVAL_MS).stop;
}
