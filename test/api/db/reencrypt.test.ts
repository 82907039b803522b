/** A change of the master key: what is stored is under the new one afterwards, and nothing else has changed. */
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { reencrypt, urlContext } from "../../../api/db/upkeep.ts";
import { Cipher } from "../../../shared/cipher.ts";
import { ownDatabase } from "../../support/database.ts";

const [OLD, NEW, LOST] = ["01".repeat(32), "02".repeat(32), "03".repeat(32)];
const ANSWERS = 120;
const URL = "https://example.com/hook?token=s3cret";
const wallet = `0x${"11".repeat(20)}`;
const jobId = (n: number) => `job_${n.toString(16).padStart(32, "0")}`;

const { pool } = await ownDatabase();
afterAll(() => pool.end());
beforeAll(async () => {
  const old = new Cipher(OLD, "answers");
  const webhooks = new Cipher(OLD, "webhook secrets");
  for (let n = 0; n < ANSWERS; n++) {
    await insertJob(jobId(n), n % 3 === 0 ? null : old.encrypt(`answer ${n}`, jobId(n)));
  }
  await pool.query(
    `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time)
     VALUES ('wh_1', $1, $2, '{job.completed}', $3, 0, 0, 0, 0)`,
    [wallet, webhooks.encrypt(URL, urlContext("wh_1")), webhooks.encrypt("whsec", "wh_1")],
  );
});

async function insertJob(id: string, output: Buffer | null): Promise<void> {
  await pool.query(
    `INSERT INTO job (job_id, wallet, gateway, operator, owner, model, tier, state, valid_until, credits_locked, output)
     VALUES ($1, $2, $2, 1, gen_random_uuid(), 'm', 'lite', 'settled', 0, 2, $3)`,
    [id, wallet, output],
  );
}

/** Runs a re-encryption to NEW and returns what it logged. */
async function run(): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const ciphers = {
    answers: new Cipher(NEW, "answers", [OLD]),
    webhooks: new Cipher(NEW, "webhook secrets", [OLD]),
  };
  await reencrypt(pool, ciphers, logger, () => false);
  return lines;
}

test("every answer, secret and URL is readable under the new key", async () => {
  const kept = ANSWERS - ANSWERS / 3;
  expect(await run()).toEqual([expect.objectContaining({ renewed: kept + 2, unreadable: 0 })]);
  const { rows } = await pool.query<{ job_id: string; output: Buffer }>(
    "SELECT job_id, output FROM job WHERE output IS NOT NULL ORDER BY job_id",
  );
  const cipher = new Cipher(NEW, "answers");
  const texts = Array.from({ length: ANSWERS }, (_, n) => n)
    .filter((n) => n % 3 !== 0)
    .map((n) => `answer ${n}`);
  expect(rows.map((row) => cipher.decrypt(row.output, row.job_id))).toEqual(texts);
  const { secret, url } = (await pool.query("SELECT secret, url FROM webhook")).rows[0];
  const webhooks = new Cipher(NEW, "webhook secrets");
  expect(webhooks.decrypt(secret, "wh_1")).toBe("whsec");
  expect(webhooks.decrypt(url, urlContext("wh_1"))).toBe(URL);
  // Started once more, there is nothing left to do.
  expect(await run()).toEqual([expect.objectContaining({ renewed: 0, unreadable: 0 })]);
});

test("a row under a key that is lost is named and left as it is; the others are done", async () => {
  const lost = new Cipher(LOST, "answers").encrypt("gone", jobId(1_000));
  await insertJob(jobId(1_000), lost);
  await insertJob(jobId(1_001), new Cipher(OLD, "answers").encrypt("here", jobId(1_001)));
  const lines = await run();
  expect(lines).toContainEqual(
    expect.objectContaining({ id: jobId(1_000), msg: expect.stringMatching(/cannot be decrypted/) }),
  );
  expect(lines.at(-1)).toMatchObject({ renewed: 1, unreadable: 1 });
  const { rows } = await pool.query("SELECT output FROM job WHERE job_id = $1", [jobId(1_000)]);
  expect(rows[0].output).toEqual(lost);
});
