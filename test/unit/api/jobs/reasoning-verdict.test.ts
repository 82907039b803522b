/** An answer that ends at its length: what was received of reasoning counts to `max_tokens`, as model servers count it. */
import { expect, it } from "vitest";
import { judge } from "../../../../api/jobs/verdict.ts";
import { answerHash } from "../../../../protocol/answer-hash.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { fakeGateway } from "../../../support/fake-gateway.ts";
import { signingWorker } from "../../support/jobs.ts";

const worker = signingWorker();
const lockedAt = 1_800_000_000;
const context = fakeGateway({ time: lockedAt + 5 });
const text = "Yes, of course.";
const words = (count: number) => Array.from({ length: count }, () => "word").join(" ");

/** What becomes of an answer of four tokens that says `length` after five seconds. */
async function verdict(reasoning: string, limits: { maxTokens: number; contextWindow?: number }) {
  const jobId = newJobId();
  const hash = answerHash(text);
  const { completion, signature } = await worker.complete(jobId, text, { completedAt: lockedAt + 5 });
  const finishedBy = lockedAt + 5;
  const own = { jobId, worker: worker.signer, lockedAt, hash, text, bytes: Buffer.byteLength(text), reasoning };
  const seen = { ...own, isUnwanted: false, finishedBy, contextWindow: 32_768, ...limits };
  return judge(context, seen, { completion, signature, finish_reason: "length" }).fault?.code ?? "accepted";
}

it.each<[string, string, { maxTokens: number; contextWindow?: number }, string]>([
  ["no reasoning, far from max_tokens", "", { maxTokens: 1_000 }, "cut_short"],
  ["a word of reasoning, far from max_tokens", "Hm", { maxTokens: 1_000 }, "cut_short"],
  ["reasoning that leaves most of max_tokens", words(100), { maxTokens: 1_000 }, "cut_short"],
  ["reasoning that takes what the answer left", words(996), { maxTokens: 1_000 }, "accepted"],
  ["the same by a tokenizer that cuts twice as often", words(500), { maxTokens: 1_000 }, "accepted"],
  ["reasoning that fills the context", words(900), { maxTokens: 5_000, contextWindow: 1_000 }, "accepted"],
  [
    "reasoning that fills it but for what servers keep",
    words(390),
    { maxTokens: 5_000, contextWindow: 1_100 },
    "accepted",
  ],
  ["reasoning that leaves most of the context", words(100), { maxTokens: 5_000, contextWindow: 1_100 }, "cut_short"],
])("%s", async (_what, reasoning, limits, outcome) => {
  expect(await verdict(reasoning, limits)).toBe(outcome);
});

it.each([
  ["below the flat price's tokens costs nothing", 500, { fault: { code: "cut_short" } }],
  [
    "above them costs what there is of it, and is noted",
    501,
    { fault: null, countedTokens: 501, excess: { code: "cut_short" } },
  ],
])("an answer that ends early %s", async (_what, completionTokens, expected) => {
  const long = words(600);
  const jobId = newJobId();
  const hash = answerHash(long);
  const completedAt = lockedAt + 5;
  const { completion, signature } = await worker.complete(jobId, long, { completedAt, completionTokens });
  const own = {
    jobId,
    worker: worker.signer,
    lockedAt,
    hash,
    text: long,
    bytes: Buffer.byteLength(long),
    reasoning: "",
  };
  const seen = { ...own, isUnwanted: false, finishedBy: completedAt, contextWindow: 32_768, maxTokens: 4_850 };
  expect(judge(context, seen, { completion, signature, finish_reason: "length" })).toMatchObject(expected);
});
