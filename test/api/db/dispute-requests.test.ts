/** Dispute requests in the gateway's database: one a job, counted from the first arrival of its hash. */
import type { Address, Hex } from "viem";
import { afterAll, expect, it } from "vitest";
import { DisputeStore } from "../../../api/db/disputes.ts";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { newJobId, toApiJobId } from "../../../protocol/job-id.ts";
import { ownDatabase } from "../../support/database.ts";

const WALLET: Address = `0x${"11".repeat(20)}`;
const [ONE, TWO] = [`0x${"a1".repeat(20)}`, `0x${"a2".repeat(20)}`] as [Address, Address];
/** Seconds; longer than a test. */
const PATIENCE = 600;

const { pool } = await ownDatabase();
afterAll(() => pool.end());
const store = new DisputeStore(pool);

const at = (seconds: number) => new Date(1_900_000_000_000 + seconds * 1_000);
const asked = (jobId: Hex, text: string, arrivedAt: Date, gateway = ONE) => ({
  jobId,
  receivedHash: answerHash(text),
  wallet: WALLET,
  gateway,
  arrivedAt,
});
const rowsOf = async (jobId: Hex) =>
  (await pool.query("SELECT received_hash, outcome FROM dispute_request WHERE job_id = $1", [toApiJobId(jobId)])).rows;

it("of a hundred hashes at once one is taken; the others are refused and forgotten", async () => {
  const jobId = newJobId();
  const all = Array.from({ length: 100 }, (_, i) => store.record(asked(jobId, `noise ${i}`, at(i)), PATIENCE));
  const recorded = (await Promise.all(all)).filter((one) => one !== null);
  expect(recorded).toHaveLength(1);
  expect(await rowsOf(jobId)).toEqual([{ received_hash: recorded[0]?.receivedHash, outcome: null }]);
  expect((await store.unanswered(ONE)).filter((one) => one.jobId === jobId)).toHaveLength(1);
});

it("a repetition counts from its first arrival, before and after the answer", async () => {
  const jobId = newJobId();
  await store.record(asked(jobId, "mine", at(0)), PATIENCE);
  expect((await store.record(asked(jobId, "mine", at(5)), PATIENCE))?.arrivedAt).toEqual(at(0));
  await store.answer({ jobId, receivedHash: answerHash("mine"), gateway: ONE }, "not_settled");
  expect((await store.record(asked(jobId, "mine", at(90)), PATIENCE))?.arrivedAt).toEqual(at(0));
});

it("another hash replaces an answered one, and counts from its own arrival", async () => {
  const jobId = newJobId();
  await store.record(asked(jobId, "one", at(0)), PATIENCE);
  await store.answer({ jobId, receivedHash: answerHash("one"), gateway: ONE }, "equal");
  const other = await store.record(asked(jobId, "two", at(9)), PATIENCE);
  expect(other).toMatchObject({ receivedHash: answerHash("two"), arrivedAt: at(9) });
  expect(await store.find(jobId, answerHash("one"))).toBeNull();
  // A late answer to the first is no answer to the second.
  await store.answer({ jobId, receivedHash: answerHash("one"), gateway: ONE }, "opened");
  expect(await rowsOf(jobId)).toEqual([{ received_hash: answerHash("two"), outcome: null }]);
});

it("stays with its gateway while a client waits; then the next gateway takes it", async () => {
  for (const text of ["the same", "another"]) {
    const jobId = newJobId();
    await store.record(asked(jobId, "the same", at(0)), PATIENCE);
    const kept = await store.record(asked(jobId, text, at(1), TWO), PATIENCE);
    if (text === "the same") expect(kept?.gateway).toBe(ONE);
    else expect(kept).toBeNull();
    expect((await store.record(asked(jobId, text, at(2), TWO), 0))?.gateway).toBe(TWO);
  }
});

it("is answered once, and only by the gateway that has it", async () => {
  const jobId = newJobId();
  const request = await store.record(asked(jobId, "mine", at(0)), PATIENCE);
  const mine = { jobId, receivedHash: answerHash("mine") };
  // The other gateway took it over: what the first one finds meanwhile does not replace its answer.
  expect(await store.answer({ ...mine, gateway: TWO }, "already_open")).toBe(false);
  expect(await store.answer(request as NonNullable<typeof request>, "opened")).toBe(true);
  expect(await store.answer({ ...mine, gateway: ONE }, "already_open")).toBe(false);
  expect(await store.answer({ ...mine, gateway: TWO }, "opened")).toBe(false);
  expect(await store.find(jobId, mine.receivedHash)).toMatchObject({ outcome: "opened" });
});

it("is answered by the gateway that opened it, though another found it open", async () => {
  const jobId = newJobId();
  const request = await store.record(asked(jobId, "mine", at(0)), PATIENCE);
  expect(await store.answer(request as NonNullable<typeof request>, "already_open")).toBe(true);
  const opener = { jobId, receivedHash: answerHash("mine"), gateway: TWO };
  expect(await store.answer(opener, "opened")).toBe(true);
  expect(await store.find(jobId, opener.receivedHash)).toMatchObject({ outcome: "opened" });
});
