/** What the client does about a charge for an answer that broke off. */
import { type Hex, zeroHash } from "viem";
import { expect, it } from "vitest";
import type { ChainView } from "../../../client/chain.ts";
import type { Finding, JobReport } from "../../../client/findings.ts";
import { JobCheck } from "../../../client/job.ts";
import { Reply } from "../../../client/reply.ts";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { newJobId, toApiJobId } from "../../../protocol/job-id.ts";
import type { JobStory } from "../../../verify/story.ts";

const WALLET = "0x00000000000000000000000000000000000a11e7";
const TEXT = "One two three.";
const PRICES = { creditsPerRequest: 8, creditsPer1kTokens: 8 };
const windows = { completion: 60, inclusion: 0, dispute: 600 };

const NO_DISPUTE = new Promise<unknown>(() => {});

type Answer = { status: number; body: unknown };
const error = (status: number, code: string): Answer => ({ status, body: { error: { code } } });
const output = (content: string): Answer => ({ status: 200, body: { content } });

/**
 * Checks a job that was settled `age` seconds ago, of whose answer the program has the first word. `answers`: what the service says when it is
 * asked for the answer; the last one stays. `dispute`: one that is opened later. `isProven`: locked then, only proven by its worker since, and
 * disputable for an hour. `lockedAfter`: seconds until the chain has its lock.
 */
async function brokenOff(
  answers: Answer[],
  { age = 0, dispute = NO_DISPUTE, signer = null, isProven = false, lockedAfter = 0 } = {},
) {
  const jobId = newJobId();
  const now = Math.floor(Date.now() / 1000);
  const place = { block: 5n, tx: zeroHash };
  const args = { jobId, wallet: WALLET, credits: 8, account: 0n, usage: 0n };
  const proof = { ...place, args: { ...args, proofHash: answerHash(TEXT), r: zeroHash, vs: zeroHash } };
  const story = {
    jobId,
    locked: { ...place, args },
    word: { ...PRICES, credits: 8, model: 1, operator: 0, lockedAt: isProven ? now - age : now },
    settled: isProven ? null : proof,
    authorized: null,
    proven: isProven ? { ...proof, args: { ...proof.args, finalizeFrom: now + 3_600 } } : null,
    returned: null,
    disputes: [],
    worker: null,
  } as unknown as JobStory;
  const chain = {
    client: { getBlock: async () => ({ timestamp: BigInt(now - age) }) },
    deployment: async () => ({ windows }),
    model: async () => ({ ...PRICES, number: 1, contextWindow: 4_096 }),
    operatorOf: async () => 0,
    account: async () => ({ free: 0, escrowed: 0 }),
    watch: async ({ end }: { end: number }) => (end < Date.now() + lockedAfter * 1_000 ? null : story),
    status: async () => 0,
    watchDispute: () => dispute,
  } as unknown as ChainView;
  const findings: Finding[] = [];
  const reports: JobReport[] = [];
  const asked: string[] = [];
  const onFinding = (finding: Finding) => findings.push(finding);
  const context = { chain, signer, keyOf: null, onFinding, onJob: (report: JobReport) => reports.push(report) };
  const request = { model: "m", maxTokens: 100, stream: true, reasoning: false, askedAt: Date.now(), again: false };
  const received = { jobId, reply: Object.assign(new Reply(), { text: "One " }), headers: new Headers(), ok: true };
  await new JobCheck(
    context,
    { ...request, named: new Set(), from: Promise.resolve(1n), wallet: WALLET, authorization: null },
    { ...received, left: false, answered: () => false },
    async (method, path) => {
      asked.push(`${method} ${path.replace(toApiJobId(jobId as Hex), ":id")}`);
      if (method === "POST") return { status: 200, body: { dispute_opened: false } };
      return (answers.length > 1 ? answers.shift() : answers[0]) as Answer;
    },
  ).run();
  // What it does behind the report.
  await new Promise(setImmediate);
  return { ids: findings.map(({ kind, id }) => `${kind} ${id}`), asked, report: reports[0] };
}
const GET = "GET /jobs/:id/output";
const DISPUTE = "POST /jobs/:id/dispute";

it("asks for the rest while the service is busy, and then disputes nothing", async () => {
  const { ids, asked, report } = await brokenOff([error(409, "job_not_settled"), error(429, "slow"), output(TEXT)]);
  expect(ids).toEqual(["wrong settlement.unanswered"]);
  expect(asked).toEqual([GET, GET, GET]);
  expect(report?.receivedHash).toBe(answerHash(TEXT));
});

it("checks the charge of a job whose promised lock was mined 20 s later", async () => {
  const { ids } = await brokenOff([output(TEXT)], { lockedAfter: 20 });
  expect(ids).toEqual(["wrong settlement.unanswered"]);
});

it.each([error(503, "service_unavailable"), error(404, "job_not_found"), { status: 200, body: null }])(
  "does not dispute with the hash of half a text when the rest cannot be had: $status",
  async (answer) => {
    const { ids, asked, report } = await brokenOff([answer], { age: 600 });
    expect(ids).toEqual(["unchecked reply.output"]);
    expect(asked).toEqual([GET]);
    expect(report).toMatchObject({ holds: false, disputeTx: null });
  },
);

it("asks for the rest of a proven job until it can be settled no more", async () => {
  const { ids, asked } = await brokenOff([error(409, "job_not_settled")], { age: 71, isProven: true });
  expect(ids).toContain("unchecked reply.output");
  expect(asked).toEqual([GET]);
});

it.each([
  ["keeps no answer", error(404, "output_not_found"), ["wrong settlement.unanswered", "wrong proof.text"]],
  ["keeps another answer", output("Something else."), ["wrong reply.output", "wrong settlement.unanswered"]],
])("disputes when the service %s", async (_what, answer, says) => {
  const { ids, asked } = await brokenOff([answer]);
  expect(ids).toEqual(expect.arrayContaining([...says, "wrong dispute.refused"]));
  expect(asked).toEqual([GET, DISPUTE]);
});

it("says that nobody looked for disputes while the node was away", async () => {
  const { ids } = await brokenOff([output(TEXT)], { dispute: Promise.reject(new Error("fetch failed")) });
  expect(ids).toEqual(["wrong settlement.unanswered", "unchecked chain.unreachable"]);
});

it("does not add the hash of half a text to a dispute of the operator's", async () => {
  const dispute = Promise.resolve({ args: { byOperator: true, receivedHash: answerHash("Evil.") } });
  // A signer that is asked for anything fails the dispute: dispute.refused.
  const { ids } = await brokenOff([error(503, "service_unavailable")], { age: 600, dispute, signer: {} as never });
  expect(ids).toEqual(["unchecked reply.output", "wrong dispute.unasked"]);
});
