/** What a dishonest operator can do to its clients: one line a lie, and what becomes of it. */
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { parseAuthorization } from "../../../api/jobs/authorization.ts";
import type { FindingId } from "../../../client/index.ts";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { fromApiJobId, newJobId } from "../../../protocol/job-id.ts";
import { type Completion, compactSignature } from "../../../protocol/messages.ts";
import type { Draft, HostileOperator, Lie } from "./hostile-operator.ts";
import { DEAR_MODEL, DISPUTABLE } from "./hostile-stack.ts";

/** A key that nobody registered. */
const STRANGER = privateKeyToAccount(`0x${"77".repeat(32)}`);
const NO_OUTPUT = { status: 404, body: { error: { code: "output_not_found" } } };
/** Of a charged answer that the client cannot have whole. */
const WITHHELD = {
  says: ["settlement.unanswered", "proof.text", "dispute.opened"],
  output: NO_OUTPUT,
} satisfies Partial<Line>;
/** After so many milliseconds no charge of now can be disputed any more. */
const UNDISPUTABLE = (DISPUTABLE.dispute + DISPUTABLE.inclusion + 15) * 1_000;
const REFUSED = { status: 422, body: { error: { code: "dispute_window_expired", message: "too late" } } };

/** A lie with what must come of it. */
export type Told = Lie & {
  name: string;
  /** Asks for reasoning. */
  reasons?: boolean;
  /** Asks without a stream. */
  plain?: boolean;
  /** The wallet has an authorization key. `maxTokens`: of the request. */
  signed?: boolean;
  maxTokens?: number;
  /** The wallet itself does not sign transactions for the client. */
  address?: boolean;
  /** Asks twice: the lie is in the second reply. */
  twice?: boolean;
  /** Findings that must be among those of the client package. */
  says: FindingId[];
  /** Credits that the job takes from the wallet, before what a dispute gives back. */
  costs: number;
  /** The job's state on the chain. */
  chain: "settled" | "disputed" | "failed" | "refunded" | null;
};
/** A lie as it is written here: it costs what an honest job does, and is disputed if a finding says so. */
type Line = Omit<Told, "costs" | "chain"> & Partial<Pick<Told, "costs" | "chain">>;

const delta = (draft: Draft, at = 0) => draft.data[at].choices[0].delta;
const statement = (draft: Draft) =>
  (draft.data.find((one) => one.service) as { service: never }).service as {
    worker_address: string;
    completion: Record<string, unknown>;
    signature: string;
  };
const message = (draft: Draft) => draft.data[0].choices[0].message;
// biome-ignore lint/suspicious/noExplicitAny: what is changed has any form
const set = (target: any, change: Record<string, unknown>): void => void Object.assign(target, change);
const usage = (draft: Draft) => draft.data.find((one) => one.usage)?.usage;
/** Another text, in the same reply. */
const falsify = (draft: Draft): string => {
  const first = draft.data.find((one) => one.choices[0]?.delta?.content);
  first.choices[0].delta.content = `${first.choices[0].delta.content} (buy now)`;
  return draft.data.map((one) => one.choices[0]?.delta?.content ?? "").join("");
};
const otherText = (draft: Draft): void => void falsify(draft);
const cutShort = (draft: Draft): void => {
  delta(draft).content = String(delta(draft).content).slice(0, 5);
  set(draft, { raw: stream(draft)[0], cut: true });
};
const stream = (draft: Draft) => draft.data.map((one) => `data: ${JSON.stringify(one)}\n\n`);

/** What an operator remembers of an earlier job. */
const earlier = new Map<string, Draft>();
const memory =
  (name: string, change: (draft: Draft, old: Draft) => void): NonNullable<Lie["alter"]> =>
  (draft) => {
    const old = earlier.get(name);
    if (old === undefined) earlier.set(name, structuredClone(draft));
    else {
      earlier.delete(name);
      change(draft, old);
    }
  };

/** The connection of a wallet's first reply breaks in the middle. */
const broken = new Set<string>();
const breakOnce: NonNullable<Lie["alter"]> = (draft, _operator, { wallet }) => {
  if (!broken.has(wallet)) set(draft, { raw: stream(draft)[0], broken: true });
  broken.add(wallet);
};
const internalError = { error: { code: "internal_error", message: "sorry" } };

const LINES: Line[] = [
  {
    name: "an answer that it never settles",
    says: ["settlement.found"],
    costs: 0,
    chain: "refunded",
    play: (o, a) => o.play(a, { settle: false }),
  },
  {
    name: "another text",
    says: ["reply.text", "proof.text", "dispute.opened"],
    alter: otherText,
  },
  {
    name: "another text in a plain reply",
    plain: true,
    says: ["reply.text", "proof.text", "dispute.opened", "dispute.joined"],
    alter: (d) => set(message(d), { content: `${message(d).content} (buy now)` }),
  },
  {
    name: "another text with its hash",
    says: ["proof.signature", "proof.text", "dispute.opened"],
    alter: (d) => set(statement(d).completion, { proofHash: answerHash(falsify(d)) }),
  },
  {
    name: "another text, signed by a key of its own",
    says: ["proof.worker", "proof.same", "proof.text", "dispute.opened"],
    alter: async (d, operator) => {
      const said = statement(d);
      said.completion["proofHash"] = answerHash(falsify(d));
      said.worker_address = STRANGER.address;
      d.headers["x-service-worker"] = STRANGER.address;
      said.signature = await operator.sign(said.completion as never, STRANGER);
    },
  },
  {
    name: "another text without a statement",
    says: ["reply.statement", "proof.text", "dispute.opened"],
    alter: (d) => {
      falsify(d);
      for (const one of d.data) delete one.service;
    },
  },
  {
    name: "no statement",
    says: ["reply.statement"],
    alter: (d) => {
      for (const one of d.data) delete one.service;
    },
  },
  {
    name: "another text, and a statement without a completion",
    says: ["reply.statement", "proof.text", "dispute.opened"],
    alter: (d) => {
      falsify(d);
      set(statement(d), { completion: null });
    },
  },
  {
    name: "another text in events with an empty error",
    says: ["reply.text", "proof.text", "dispute.opened"],
    alter: (d) => {
      falsify(d);
      for (const one of d.data) one.error = null;
    },
  },
  {
    name: "another text with another good status",
    says: ["reply.text", "proof.text", "dispute.opened"],
    alter: (d) => {
      falsify(d);
      d.status = 203;
    },
  },
  {
    name: "another worker in the statement",
    says: ["proof.signature"],
    alter: (d) => set(statement(d), { worker_address: STRANGER.address }),
  },
  {
    name: "a statement that is no statement",
    says: ["proof.signature"],
    alter: (d) => set(statement(d), { worker_address: 7, signature: null }),
  },
  {
    name: "another token count in the statement",
    says: ["proof.signature"],
    alter: (d) => set(statement(d).completion, { completionTokens: 1 }),
  },
  {
    name: "fewer output tokens than were billed",
    plain: true,
    says: ["settlement.tokens"],
    alter: (d) => set(usage(d), { completion_tokens: 1, total_tokens: usage(d).prompt_tokens + 1 }),
  },
  {
    name: "more output tokens than were signed",
    plain: true,
    says: ["reply.usage"],
    alter: (d) => set(usage(d), { completion_tokens: usage(d).completion_tokens + 500 }),
  },
  {
    name: "other prompt tokens",
    plain: true,
    says: ["reply.usage"],
    alter: (d) => set(usage(d), { prompt_tokens: usage(d).prompt_tokens + 1 }),
  },
  {
    name: "another worker in the headers",
    says: ["headers.worker"],
    alter: (d) => set(d.headers, { "x-service-worker": STRANGER.address }),
  },
  {
    name: "another lock in the headers",
    says: ["headers.escrow_tx"],
    alter: (d) => set(d.headers, { "x-service-tx-hash": `0x${"12".repeat(32)}` }),
  },
  {
    name: "an earlier settlement in the headers",
    plain: true,
    twice: true,
    says: ["headers.settlement_tx"],
    alter: memory("settlement", (d, old) =>
      set(d.headers, { "x-service-settlement-tx": old.headers["x-service-settlement-tx"] as string }),
    ),
  },
  {
    name: "a balance that is too high",
    says: ["headers.credits_remaining"],
    alter: (d) => set(d.headers, { "x-service-credits-remaining": "1000000" }),
  },
  {
    name: "another model's name",
    says: ["reply.names"],
    alter: (d) =>
      d.data.forEach((one) => {
        one.model = DEAR_MODEL;
      }),
  },
  {
    name: "an earlier job in the headers",
    twice: true,
    says: ["reply.job"],
    alter: memory("job", (d, old) => set(d.headers, { "x-service-job-id": old.headers["x-service-job-id"] as string })),
  },
  {
    name: "an earlier answer, whole, with its job",
    twice: true,
    says: ["reply.job"],
    alter: memory("answer", (d, old) => set(d, old)),
  },
  {
    name: "an earlier answer for a signed job",
    twice: true,
    signed: true,
    says: ["reply.job", "reply.names", "reply.statement", "proof.text", "dispute.opened"],
    alter: memory("signed", (d, old) => set(d, old)),
  },
  {
    name: "no job in the headers",
    says: ["reply.job"],
    alter: (d) => void delete d.headers["x-service-job-id"],
  },
  {
    name: "the end withheld, and the rest too",
    ...WITHHELD,
    alter: cutShort,
  },
  {
    name: "the end withheld, with the connection open",
    ...WITHHELD,
    alter: (d) => {
      cutShort(d);
      set(d, { cut: false, held: UNDISPUTABLE });
    },
  },
  {
    name: "a signed job's answer withheld, with the connection open",
    plain: true,
    signed: true,
    ...WITHHELD,
    alter: (d) => set(d, { raw: "", held: UNDISPUTABLE }),
  },
  {
    name: "a plain answer that breaks off after its headers",
    plain: true,
    ...WITHHELD,
    alter: (d) => set(d, { raw: "{", broken: true }),
  },
  {
    name: "a plain answer that breaks off, and is refused afterwards",
    plain: true,
    ...WITHHELD,
    alter: (d) => set(d, { raw: "{", cut: true, broken: true }),
  },
  {
    name: "a plain answer withheld, with the connection open",
    plain: true,
    ...WITHHELD,
    alter: (d) => set(d, { raw: " ", held: UNDISPUTABLE }),
  },
  {
    name: "an error in the stream of an answer that is charged",
    ...WITHHELD,
    alter: (d) => {
      delta(d).content = String(delta(d).content).slice(0, 5);
      d.data.splice(1, d.data.length, internalError);
    },
  },
  {
    name: "an error under the job's name, of an answer that is charged",
    plain: true,
    says: ["settlement.unanswered", "dispute.opened"],
    output: NO_OUTPUT,
    alter: (d) => set(d, { status: 500, data: [internalError] }),
  },
  {
    name: "another job for a plain request that is repeated",
    plain: true,
    forgets: true,
    says: ["reply.job", "settlement.unanswered"],
    costs: 16,
    alter: breakOnce,
  },
  {
    name: "another job for a stream that is repeated",
    forgets: true,
    says: ["reply.job", "settlement.unanswered"],
    costs: 16,
    alter: breakOnce,
  },
  {
    name: "a refusal, and a charge afterwards",
    signed: true,
    says: ["settlement.unanswered", "dispute.opened"],
    output: NO_OUTPUT,
    dispute: REFUSED,
    play: async (o, a) => {
      setTimeout(() => void o.play(a), 8_000);
      const headers = { "content-type": "application/json" };
      return { status: 503, headers, data: [internalError], raw: null, cut: false };
    },
  },
  {
    name: "a lock after the client has looked for it",
    signed: true,
    says: ["lock.found", "proof.text", "dispute.opened"],
    dispute: REFUSED,
    play: async (o, a) => {
      setTimeout(() => void o.play(a, { settledText: "Something else." }), 25_000);
      const { jobId } = parseAuthorization(a.headers["x-service-authorization"] as string);
      return o.draft(a, { jobId, text: "Soon.", statement: null, tokens: 1, escrowTx: null, settlementTx: null });
    },
  },
  {
    name: "an error instead of the answer that is charged",
    signed: true,
    says: ["settlement.unanswered", "dispute.opened"],
    output: NO_OUTPUT,
    alter: (d) => set(d, { status: 500, headers: { "content-type": "application/json" }, data: [internalError] }),
  },
  {
    name: "a second choice",
    says: ["reply.form"],
    alter: (d) => void d.data[0].choices.push({ index: 1, delta: { content: "Buy now." }, finish_reason: null }),
  },
  {
    name: "an answer in the role of a tool",
    plain: true,
    says: ["reply.form"],
    alter: (d) => set(message(d), { role: "tool" }),
  },
  {
    name: "reasoning that nobody asked for",
    says: ["reply.reasoning"],
    alter: (d) => set(delta(d), { reasoning_content: "The user should buy now." }),
  },
  {
    name: "reasoning that nobody asked for, on the bill",
    says: ["reply.reasoning", "reply.usage", "settlement.tokens"],
    play: (o, a) => o.play(a, { reasoning: "Hm. ".repeat(300), reasoningTokens: 600 }),
  },
  {
    name: "more reasoning on the bill than it sent",
    reasons: true,
    says: ["settlement.tokens"],
    play: (o, a) => o.play(a, { reasoning: "Hm.", reasoningTokens: 600 }),
  },
  {
    name: "another length of its text",
    says: ["reply.text"],
    play: (o, a) => o.play(a, { textBytes: 4_000_000 }),
  },
  {
    name: "no dispute: the hashes are equal, it says",
    says: ["proof.text", "dispute.opened"],
    dispute: { status: 200, body: { dispute_opened: false } },
    alter: otherText,
  },
  {
    name: "a dispute that it never opened",
    says: ["proof.text", "dispute.opened"],
    dispute: { status: 200, body: { dispute_opened: true, dispute_tx: `0x${"34".repeat(32)}` } },
    alter: otherText,
  },
  {
    name: "no dispute: it is too late, it says",
    says: ["proof.text", "dispute.opened"],
    dispute: REFUSED,
    alter: otherText,
  },
  {
    name: "no answer to the dispute",
    says: ["proof.text", "dispute.opened"],
    dispute: null,
    alter: otherText,
  },
  {
    name: "no dispute, of a wallet that signs nothing here",
    address: true,
    says: ["proof.text", "dispute.refused"],
    dispute: REFUSED,
    alter: otherText,
  },
  {
    name: "a dearer model's price",
    says: ["lock.terms", "lock.credits"],
    costs: 40,
    play: (o, a) => o.play(a, { model: DEAR_MODEL }),
  },
  {
    name: "a dearer model's price, of a signed job",
    signed: true,
    says: ["lock.found"],
    costs: 0,
    chain: null,
    play: (o, a) => o.play(a, { model: DEAR_MODEL }),
  },
  {
    name: "more credits than were signed",
    signed: true,
    says: ["lock.found"],
    costs: 0,
    chain: null,
    play: (o, a) => o.play(a, { maxTokens: 20_000, maxCredits: 80, tokens: 20_000 }),
  },
  {
    name: "more tokens than were asked for",
    says: ["lock.credits", "settlement.tokens"],
    costs: 40,
    play: (o, a) => o.play(a, { maxTokens: 10_000, tokens: 10_000 }),
  },
  {
    name: "all tokens that were signed, for a short text",
    signed: true,
    maxTokens: 4_000,
    says: ["settlement.tokens"],
    costs: 16,
    play: (o, a) => o.play(a, { tokens: 4_000 }),
  },
  {
    name: "a lock without the signature that the wallet demands",
    signed: true,
    says: ["reply.job", "lock.found"],
    costs: 0,
    chain: null,
    play: (o, a) => o.play({ ...a, headers: {} }),
  },
  {
    name: "the signature of an earlier request once more",
    signed: true,
    twice: true,
    says: ["reply.job", "lock.found"],
    costs: 0,
    chain: null,
    play: (o, a) => again(o, a),
  },
  {
    name: "an answer without a job",
    says: ["lock.found"],
    costs: 0,
    chain: null,
    play: async (o, a) =>
      o.draft(a, { jobId: newJobId(), text: "Free.", statement: null, tokens: 1, escrowTx: null, settlementTx: null }),
  },
  {
    name: "another wallet's job",
    says: ["lock.terms"],
    costs: 0,
    play: (o, a) => o.play(a, { wallet: [...o.wallets.values()][0] as never }),
  },
  {
    name: "two answers, both signed by the worker",
    says: ["proof.same", "proof.text", "dispute.opened", "dispute.equivocation"],
    dispute: REFUSED,
    play: (o, a) => o.play(a, { settledText: "Something else." }),
  },
  {
    name: "an answer that it fails on the chain",
    says: ["settlement.found"],
    costs: 0,
    chain: "failed",
    play: async (o, a) => {
      const draft = await o.play(a, { settle: false });
      await o.call("fail", [fromApiJobId(draft.headers["x-service-job-id"] as string), 1]);
      return draft;
    },
  },
  {
    name: "a proof of another text, unsettled",
    says: ["proof.text", "dispute.opened"],
    dispute: REFUSED,
    play: (o, a) => proven(o, a),
  },
  {
    name: "a dispute against its client, with a hash that it made up",
    says: ["dispute.unasked", "dispute.joined"],
    chain: "disputed",
    play: async (o, a) => {
      const draft = await o.play(a);
      const { completion, signature } = statement(draft);
      setTimeout(() => void o.dispute(completion as never, signature as never), 3_000);
      return draft;
    },
  },
];

/** The first request gets what it asked for; the second one's answer goes under the first one's signature. */
const headers = new Map<string, unknown>();
async function again(operator: HostileOperator, asked: Parameters<NonNullable<Lie["play"]>>[1]): Promise<Draft> {
  const { wallet } = asked;
  const old = headers.get(wallet);
  headers.set(wallet, asked.headers["x-service-authorization"]);
  if (old === undefined) return await operator.play(asked);
  return await operator.play({ ...asked, headers: { "x-service-authorization": old as string } });
}

/** It answers with one text, and has its worker prove another one to the chain. */
async function proven(operator: HostileOperator, asked: Parameters<NonNullable<Lie["play"]>>[1]): Promise<Draft> {
  const draft = await operator.play(asked, { settle: false });
  const { completion } = statement(draft);
  const { jobId } = completion as { jobId: Hex };
  await operator.acknowledge(jobId);
  const other = { ...completion, proofHash: answerHash("Something else.") } as Completion;
  await operator.call("submitProof", [other, compactSignature(await operator.sign(other))]);
  return draft;
}

export const LIES: readonly Told[] = LINES.map((line) => ({
  costs: 8,
  chain: line.says.includes("dispute.opened") ? "disputed" : "settled",
  ...line,
}));
/** A lie as a path. */
export const slug = (name: string): string => name.replaceAll(/[^a-z]+/gi, "-");
