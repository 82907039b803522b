/** Requests whose clients hung up: who may join their jobs. */
import { randomBytes } from "node:crypto";
import { afterAll, expect, it } from "vitest";
import { AbandonedRequests } from "../../../api/db/abandoned-requests.ts";
import { newJobId, toApiJobId } from "../../../protocol/job-id.ts";
import { ownDatabase } from "../../support/database.ts";

const { pool } = await ownDatabase();
afterAll(() => pool.end());
/** Two gateways of one database. */
const [one, two] = [new AbandonedRequests(pool), new AbandonedRequests(pool)];

const request = () => ({ wallet: "0xAbc", bodyHash: randomBytes(32) });

it("is joined once, at whatever gateway, and only by the same wallet and body", async () => {
  const [asked, jobId] = [request(), newJobId()];
  await one.add(asked, jobId);
  expect(await two.take({ ...asked, wallet: "0xdef" })).toBeNull();
  expect(await two.take({ ...asked, bodyHash: randomBytes(32) })).toBeNull();
  const taken = await Promise.all([one, two, one, two].map((gateway) => gateway.take({ ...asked, wallet: "0xabc" })));
  expect(taken.filter((job) => job !== null)).toEqual([jobId]);
});

it("is told apart from others that are asked for at the same moment", async () => {
  const [asked, other] = [request(), request()];
  const [first, second, third] = [newJobId(), newJobId(), newJobId()];
  await one.add(asked, first);
  await one.add(asked, second);
  await one.add(other, third);
  const strangers = Array.from({ length: 20 }, request);
  const taken = await Promise.all([...strangers, asked, other, ...strangers, asked].map((each) => two.take(each)));
  expect(taken.filter((job) => job !== null).toSorted()).toEqual([first, second, third].toSorted());
  expect(taken[21]).toBe(third);
});

it("is not ended by its gateway while a repetition waits for it at another one", async () => {
  const [asked, jobId] = [request(), newJobId()];
  await one.add(asked, jobId);
  await two.take(asked);
  expect(await one.close(jobId)).toBe(false);
  // The repetition hangs up, too: the next one joins.
  await two.add(asked, jobId);
  expect(await one.take(asked)).toBe(jobId);
});

it("that nobody joined is closed once, and joined no more", async () => {
  const [asked, jobId] = [request(), newJobId()];
  await one.add(asked, jobId);
  expect([await one.close(jobId), await one.close(jobId)]).toEqual([true, false]);
  expect(await two.take(asked)).toBeNull();
});

it.each([
  [59, true],
  [61, false],
])("whose client left %i s ago can be joined: %s", async (seconds, isJoined) => {
  const [asked, jobId] = [request(), newJobId()];
  await one.add(asked, jobId);
  await pool.query("UPDATE abandoned_request SET left_at = now() - make_interval(secs => $2) WHERE job_id = $1", [
    toApiJobId(jobId),
    seconds,
  ]);
  expect(await two.take(asked)).toBe(isJoined ? jobId : null);
});
