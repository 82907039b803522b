/** What reasoning does to an answer's verdict: what of it is billed, and when an answer that ends at its length is whole. */
import { describe, expect, it } from "vitest";
import { judge, type Observed } from "../../../../api/jobs/verdict.ts";
import { answerHash } from "../../../../protocol/answer-hash.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import type { Completion } from "../../../../protocol/messages.ts";
import { fakeGateway } from "../../../support/fake-gateway.ts";
import { signingWorker } from "../../support/jobs.ts";

const worker = signingWorker();
const lockedAt = 1_800_000_000;
const finishedBy = lockedAt + 5;
const context = fakeGateway({ time: finishedBy });
const ANSWER = "Yes, of course.";
const words = (count: number) => Array.from({ length: count }, () => "word").join(" ");

type Case = {
  text?: string;
  reasoning?: string | null;
  shownReasoning?: number;
  signs?: Partial<Completion>;
  finish?: "stop" | "length";
  limits?: Partial<Pick<Observed, "maxTokens" | "contextWindow">>;
};

/** The verdict of an answer of four tokens after five seconds; a client who waits sees all of its reasoning. */
async function verdictOf({ text = ANSWER, reasoning = "", signs = {}, finish = "stop", limits, ...seen }: Case) {
  const jobId = newJobId();
  const signed = await worker.complete(jobId, text, { completedAt: finishedBy, ...signs });
  const observed = {
    jobId,
    worker: worker.signer,
    lockedAt,
    finishedBy,
    hash: answerHash(text),
    text,
    bytes: Buffer.byteLength(text),
    reasoning,
    shownReasoning: reasoning?.length ?? 0,
    maxTokens: 10_000,
    contextWindow: 32_768,
    isUnwanted: false,
    ...limits,
    ...seen,
  };
  return judge(context, observed, { ...signed, finish_reason: finish });
}

describe("An answer that ends with length: reasoning counts towards max_tokens", () => {
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
    const { fault } = await verdictOf({ reasoning, limits, finish: "length" });
    expect(fault?.code ?? "accepted").toBe(outcome);
  });

  it.each([
    ["below the flat price's tokens costs nothing", 500, { fault: { code: "cut_short" } }],
    [
      "above them costs what there is of it, and is noted",
      501,
      { fault: null, countedTokens: 501, excess: { code: "ended_early" } },
    ],
  ])("an answer that ends early %s", async (_what, completionTokens, expected) => {
    const limits = { maxTokens: 4_850 };
    const verdict = verdictOf({ text: words(600), signs: { completionTokens }, limits, finish: "length" });
    expect(await verdict).toMatchObject(expected);
  });
});

describe("What of an answer is billed", () => {
  const content = words(400);
  const reasoning = words(800);
  const counts = { completionTokens: 400, reasoningTokens: 800 };
  it.each<[string, Case, object]>([
    ["content and the reasoning that its client saw", { signs: counts }, { countedTokens: 1_200, excess: null }],
    [
      "content alone, where nobody asked for the reasoning",
      { signs: counts, shownReasoning: 0 },
      { countedTokens: 400 },
    ],
    [
      "the part of the reasoning that a client had when it left",
      { signs: counts, shownReasoning: reasoning.length / 4 },
      { countedTokens: 600 },
    ],
    [
      "no more than max_tokens for both",
      { signs: counts, limits: { maxTokens: 1_200 } },
      { countedTokens: 1_200, excess: null },
    ],
    [
      "one token less, where that is max_tokens",
      { signs: counts, limits: { maxTokens: 1_199 } },
      { countedTokens: 1_199, excess: { code: "tokens_over_reported" } },
    ],
    [
      "nothing but reasoning",
      { text: "", signs: { completionTokens: 0, reasoningTokens: 800 } },
      { countedTokens: 800 },
    ],
    [
      "a token a byte of reasoning",
      { reasoning: "short", signs: { reasoningTokens: 5 } },
      { countedTokens: 9, excess: null },
    ],
    [
      "not a token more",
      { reasoning: "short", signs: { reasoningTokens: 6 } },
      { countedTokens: 9, excess: { code: "tokens_over_reported" } },
    ],
    [
      "no reasoning that was counted and not sent",
      { reasoning: "", signs: { reasoningTokens: 1 } },
      { countedTokens: 4, excess: { code: "tokens_over_reported" } },
    ],
    [
      "no reasoning that the gateway did not see, after a restart",
      { reasoning: null, signs: counts, limits: { maxTokens: null } },
      { countedTokens: 400, excess: null },
    ],
    [
      "as much as any tokenizer counts: 2.5 times ours and 64",
      { signs: { completionTokens: 400, reasoningTokens: 2_064 } },
      { countedTokens: 2_464, excess: null },
    ],
    [
      "not a token more of reasoning",
      { signs: { completionTokens: 400, reasoningTokens: 2_065 } },
      { countedTokens: 2_464, excess: { code: "tokens_implausible" } },
    ],
    [
      "nor of content beside it",
      { signs: { completionTokens: 1_065, reasoningTokens: 800 } },
      { countedTokens: 1_864, excess: { code: "tokens_implausible" } },
    ],
    [
      "up to 500 tokens together, without a count of ours",
      { text: "é".repeat(125), reasoning: "é".repeat(125), signs: { completionTokens: 250, reasoningTokens: 250 } },
      { countedTokens: 500, excess: null },
    ],
  ])("%s", async (_what, given, expected) => {
    expect(await verdictOf({ text: content, reasoning, ...given })).toMatchObject({ fault: null, ...expected });
  });

  it("is nothing where the worker signed another length than its text has", async () => {
    for (const textBytes of [14, 16]) {
      expect(await verdictOf({ signs: { textBytes } })).toMatchObject({ fault: { code: "wrong_length" } });
    }
    expect(await verdictOf({ signs: { textBytes: 15 } })).toMatchObject({ fault: null });
  });
});
