/** The transaction pipeline against a real node and a real database: whatever the node does, an operation happens once. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { eventOf, failOperation, type Operation } from "../../../api/chain/operations.ts";
import { MAX_IN_FLIGHT } from "../../../api/chain/queue.ts";
import type { NewJob } from "../../../api/db/jobs.ts";
import { newJobId, toApiJobId } from "../../../protocol/job-id.ts";
import { FailureReason } from "../../../protocol/job-status.ts";
import { eventually } from "../../support/api-client.ts";
import { account, lock, owner, World } from "../../support/pipeline-world.ts";

const world = new World();

beforeAll(() => world.open());
afterEach(() => world.endPipelines());
afterAll(() => world.close());

describe("group commit", () => {
  it("sends the first at once and gathers the rest into few transactions", async () => {
    const { pipeline, head } = await world.start();
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => pipeline.submit(lock(head)).mined));
    expect(outcomes.map((outcome) => outcome.status)).toEqual(Array(40).fill("mined"));
    expect(new Set(outcomes.map((outcome) => outcome.hash)).size).toBeLessThanOrEqual(5);
  });

  it("a failing item tells why and leaves its neighbours alone", async () => {
    const { pipeline, head } = await world.start();
    // A node that has reorganised its chain counts its time anew.
    const chainTime = Number((await world.node.getBlock()).timestamp);
    const [good, poor, late, twice] = await Promise.all(
      [
        lock(head),
        lock(head, { wallet: account.address }),
        lock(head, { validUntil: chainTime - 10 }),
        failOperation(newJobId(), FailureReason.Cancelled),
      ].map((operation) => pipeline.submit(operation).mined),
    );
    expect(good && eventOf(good, "JobLocked")?.args).toMatchObject({ wallet: owner.address, credits: 2 });
    expect(poor).toMatchObject({
      status: "reverted",
      revert: { name: "Ledger_UnknownAccount", args: [account.address] },
    });
    expect(late).toMatchObject({ status: "reverted", revert: { name: "Job_LockExpired" } });
    expect(twice).toMatchObject({ status: "reverted", revert: { name: "Job_WrongState" } });
  });
});

describe("a new job", () => {
  const row = (operation: Operation): NewJob =>
    world.store.newJob({
      jobId: operation.jobId,
      wallet: owner.address,
      model: "qwen3-1.7b",
      tier: "lite",
      validUntil: 1_900_000_000,
      creditsLocked: 2,
      maxTokens: 100,
      repeatable: false,
    });
  const stored = async ({ jobId }: Operation) => {
    await world.rows.written(jobId);
    return (await world.pool.query("SELECT state FROM job WHERE job_id = $1", [toApiJobId(jobId)])).rows;
  };

  it("is on record when its lock is mined, once even if the lock goes out twice", async () => {
    const { pipeline, head } = await world.start();
    const operation = lock(head);
    expect((await pipeline.submit(operation, row(operation)).mined).status).toBe("mined");
    expect(await stored(operation)).toEqual([{ state: "pending" }]);
    expect((await pipeline.submit(operation, row(operation)).mined).status).toBe("reverted");
    expect(await stored(operation)).toEqual([{ state: "pending" }]);
  });

  it("that cannot be recorded is not sent; both follow once the database takes them", async () => {
    const { pipeline, head, outbox } = await world.start();
    await pipeline.submit(lock(head)).mined;
    const nonce = await outbox.lastNonce();
    const operation = lock(head);
    await world.pool.query("ALTER TABLE job RENAME TO job_away");
    const { mined } = pipeline.submit(operation, row(operation));
    await sleep(1_200);
    expect(await outbox.lastNonce()).toBe(nonce);
    await world.pool.query("ALTER TABLE job_away RENAME TO job");
    expect((await mined).status).toBe("mined");
    expect(await stored(operation)).toEqual([{ state: "pending" }]);
  });
});

describe("a node that does not mine", () => {
  it("eight consecutive nonces at most are in flight, and all are mined in the end", async () => {
    const { pipeline, head } = await world.start();
    await world.node.setAutomine(false);
    const submissions = [];
    // Each is at the node before the next is submitted: none waits with another for one transaction.
    for (let sent = 1; sent <= MAX_IN_FLIGHT; sent++) {
      submissions.push(pipeline.submit(lock(head)));
      await world.untilPending(sent);
    }
    for (let i = 0; i < 6; i++) submissions.push(pipeline.submit(lock(head)));
    await sleep(500);
    const { pending, queued } = await world.node.getTxpoolStatus();
    expect(pending + queued).toBe(MAX_IN_FLIGHT);
    await world.node.setAutomine(true);
    await world.node.mine({ blocks: 1 });
    const outcomes = await Promise.all(submissions.map(({ mined }) => mined));
    expect(outcomes.every((outcome) => outcome.status === "mined")).toBe(true);
  });

  it("a dropped transaction comes back as the very same bytes", async () => {
    const { pipeline, head } = await world.start();
    await world.node.setAutomine(false);
    const { signed, mined } = pipeline.submit(lock(head));
    const hash = await signed;
    await world.untilPending(1);
    await world.node.dropTransaction({ hash });
    await world.untilPending(1);
    await world.node.setAutomine(true);
    await world.node.mine({ blocks: 1 });
    expect(await mined).toMatchObject({ status: "mined", hash });
  });

  it("a stuck transaction gets a higher fee, and its operation happens once", async () => {
    const { pipeline, head } = await world.start({ replaceAfterMs: 1_000 });
    await world.node.setAutomine(false);
    const { signed, mined } = pipeline.submit(lock(head));
    const first = await signed;
    const variants = async () => {
      const rows = await world.pool.query(
        `SELECT hash FROM chain_transaction_variant WHERE nonce = (SELECT max(nonce) FROM chain_transaction)
         ORDER BY created_at`,
      );
      return rows.rows.map((row) => row.hash);
    };
    const [, replacement] = await eventually(variants, ({ length }) => length > 1);
    // It is on record before it is sent.
    await eventually(
      () => world.node.getTransaction({ hash: replacement }).catch(() => null),
      (transaction) => transaction !== null,
    );
    expect((await world.node.getTxpoolStatus()).pending).toBe(1);
    await world.node.setAutomine(true);
    await world.node.mine({ blocks: 1 });
    const outcome = await mined;
    expect(outcome.status).toBe("mined");
    expect(outcome.hash).not.toBe(first);
    expect(await variants()).toContain(outcome.hash);
  });
});

it("a nonce used by a foreign transaction costs the operation a new nonce only", async () => {
  const { pipeline, head } = await world.start();
  await pipeline.submit(lock(head)).mined;
  const nonce = await world.node.getTransactionCount({ address: account.address });
  await world.takeNextNonce();
  const operation = lock(head);
  const outcome = await pipeline.submit(operation).mined;
  expect(outcome.status).toBe("mined");
  const { nonce: used } = await world.node.getTransaction({ hash: outcome.hash });
  expect(used).toBe(nonce + 1);
});

const GWEI = 1_000_000_000n;
const CAP = 100n * GWEI;

describe("a base fee that rises", () => {
  // Low again: what the other tests sign is priced for an idle chain.
  afterEach(() => world.raiseBaseFee(7n));

  const offers = async (): Promise<bigint[]> => {
    const text = `SELECT max_fee FROM chain_transaction_variant
      WHERE nonce = (SELECT max(nonce) FROM chain_transaction) ORDER BY created_at`;
    return (await world.pool.query(text)).rows.map((row) => BigInt(row.max_fee));
  };

  it("a new transaction above half of the cap offers the cap, and is mined", async () => {
    await world.raiseBaseFee(70n * GWEI);
    const { pipeline, head } = await world.start({ feeCap: CAP });
    expect((await pipeline.submit(lock(head)).mined).status).toBe("mined");
    expect(await offers()).toEqual([CAP]);
  });

  it("a waiting transaction above half of the cap offers the cap, and is mined", async () => {
    const { pipeline, head } = await world.start({ feeCap: CAP, replaceAfterMs: 1_000 });
    await world.node.setAutomine(false);
    const { mined } = pipeline.submit(lock(head));
    await world.untilPending(1);
    await world.raiseBaseFee(70n * GWEI);
    await eventually(offers, (all) => all.at(-1) === CAP);
    await world.node.setAutomine(true);
    await world.node.mine({ blocks: 1 });
    expect((await mined).status).toBe("mined");
  });

  it("beyond the cap the cap is offered, and mined once the fee has fallen", async () => {
    await world.raiseBaseFee(200n * GWEI);
    const { pipeline, head } = await world.start({ feeCap: CAP });
    const { signed, mined } = pipeline.submit(lock(head));
    const variant = "SELECT FROM chain_transaction_variant WHERE hash = $1";
    const hash = await signed;
    await eventually(
      () => world.pool.query(variant, [hash]),
      ({ rowCount }) => rowCount === 1,
    );
    expect(await offers()).toEqual([CAP]);
    expect((await world.node.getTxpoolStatus()).pending).toBe(0);
    await world.raiseBaseFee(GWEI);
    expect((await mined).status).toBe("mined");
    expect(await offers()).toEqual([CAP]);
  });
});
