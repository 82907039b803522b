/** Checks whether a reply, the job on chain and the request fit together. Pure. */
import type { Address, Hex } from "viem";
import { fromApiJobId, toApiJobId } from "../protocol/job-id.ts";
import { billedReasoning, quote } from "../protocol/pricing.ts";
import { decodeAccountWord, decodeUsageWord, signedCompletion } from "../protocol/words.ts";
import { recoverSigner } from "../shared/secp256k1.ts";
import { checkCharge } from "../verify/check-money.ts";
import { type Checks, wrongFields } from "../verify/checks.ts";
import type { JobStory } from "../verify/story.ts";
import type { Deployment, Model } from "./chain.ts";
import type { Reply, Statement } from "./reply.ts";
import type { ClientRequest } from "./request.ts";

/**
 * The reply to a request. `left`: the program stopped reading before its end, or it is not known whether it did. `answered`: another reply had the
 * job's whole answer.
 */
export type Received = {
  jobId: Hex;
  reply: Reply;
  headers: Headers;
  ok: boolean;
  left: boolean;
  answered: () => boolean;
};

/** Seconds that the clock here and that of the chain may differ. */
const CLOCKS = 90;

/** The statement is one that can be looked at, signed by the key that it names. Null otherwise. */
export function signedStatement(
  { digests }: Pick<Deployment, "digests">,
  statement: Statement | null,
): Statement | null {
  if (statement === null) return null;
  try {
    const { worker_address, completion, signature } = statement;
    const signer = recoverSigner(digests.completion(completion), signature);
    return signer?.toLowerCase() === worker_address.toLowerCase() ? statement : null;
  } catch {
    // No address, or a field that the message cannot hold.
    return null;
  }
}

/** Checks a whole reply against the request and against itself. `isSigned`: its statement is signed by the worker that it names. */
export function checkReply(checks: Checks, asked: ClientRequest, received: Received, isSigned: boolean): void {
  const { reply, headers, jobId } = received;
  const id = toApiJobId(jobId);
  const names = [...reply.ids].map((name) => wrongFields("reply", { id: name }, { id: `chatcmpl-${id}` }));
  const models = [...reply.models].map((model) => wrongFields("reply", { model }, { model: asked.model }));
  checks.note("reply.names", [...names, ...models].flat(), "job and model are those of the request");
  checks.add(
    "reply.reasoning",
    asked.reasoning || !reply.reasoning,
    "it has no reasoning that nobody asked for",
    "it has reasoning that nobody asked for; for a model that always reasons, send `reasoning_effort`",
  );

  const { statement } = reply;
  const completion = statement?.completion;
  if (statement === null || completion === undefined) {
    checks.note("reply.statement", ["its worker's signed statement is missing: nobody stands for this text"], "");
    return;
  }
  checks.note(
    "reply.statement",
    wrongFields("service.completion", completion, { jobId }),
    "its statement is of this job",
  );
  const wrongText =
    completion.proofHash === reply.hash
      ? wrongFields("service.completion", completion, { textBytes: Buffer.byteLength(reply.text) })
      : [
          `the text is not the one that the worker signed: its SHA-256 is ${reply.hash.slice(2)}, signed is ${String(completion.proofHash).slice(2)}`,
        ];
  checks.note("reply.text", wrongText, "the text is the one that the worker signed");
  const { worker_address: worker } = statement;
  checks.add(
    "proof.signature",
    isSigned,
    `worker ${worker} signed it`,
    `the statement is not signed by ${worker}, which it names`,
  );
  const named = headers.get("x-service-worker");
  checks.note(
    "headers.worker",
    named === null ? [] : wrongFields("x-service-worker", { worker: named }, { worker }),
    "the header names the same worker",
  );
  checkUsage(checks, reply, completion, asked);
}

function checkUsage(checks: Checks, { usage }: Reply, signed: Statement["completion"], asked: ClientRequest): void {
  if (usage === null) return;
  const { prompt_tokens, completion_tokens, completion_tokens_details: details = { reasoning_tokens: 0 } } = usage;
  const most = signed.completionTokens + (asked.reasoning ? signed.reasoningTokens : 0);
  const wrong = wrongFields("usage", usage, {
    prompt_tokens: signed.promptTokens,
    total_tokens: prompt_tokens + completion_tokens,
  });
  if (!(completion_tokens <= most)) {
    const thought = asked.reasoning ? ", reasoning included" : ", and nobody asked for reasoning";
    wrong.push(`usage.completion_tokens is ${completion_tokens}, the worker signed ${most}${thought}`);
  }
  const reasoning_tokens = billedReasoning({ ...signed, billedTokens: completion_tokens });
  wrong.push(...wrongFields("usage.completion_tokens_details", details, { reasoning_tokens }));
  checks.note("reply.usage", wrong, `${completion_tokens} output tokens, as the worker signed`);
}

/** The model and the operator that the job may have on chain, by the request. */
type Allowed = { model: Model | null; operator: number | null };

/** The lock: for this wallet, model and price, now, and for no more than was asked for or signed. */
export function checkLocked(checks: Checks, story: JobStory, asked: ClientRequest, { model, operator }: Allowed): void {
  const { locked, word, authorized } = story;
  const { credits } = locked.args;
  const { wallet, authorization, maxTokens } = asked;
  const wrong = [
    ...(wallet === null ? [] : wrongFields("JobLocked", locked.args, { wallet })),
    ...(operator === null ? [] : wrongFields("JobLocked.job", word, { operator })),
  ];
  if (model === null) wrong.push(`the catalog has no model '${asked.model}'`);
  else {
    const { number, creditsPerRequest, creditsPer1kTokens } = model;
    wrong.push(...wrongFields("JobLocked.job", word, { model: number, creditsPerRequest, creditsPer1kTokens }));
  }
  checks.note("lock.terms", wrong, "wallet, operator, model and prices are those of the request");
  const early = asked.askedAt / 1000 - word.lockedAt;
  checks.add(
    "lock.time",
    asked.again || early < CLOCKS,
    "it was locked for this request",
    `it was locked at ${word.lockedAt}, ${Math.round(early)} s before this request: it is another request's job`,
  );
  const most = authorization?.maxCredits ?? (model === null ? 0 : quote(maxTokens, model));
  checks.add(
    "lock.credits",
    credits <= most,
    `${credits} credits were locked, of ${most} that ${maxTokens} output tokens cost`,
    `${credits} credits were locked; ${maxTokens} output tokens of '${asked.model}' cost ${most}`,
  );
  if (authorization === null) return;
  const { key, requestHash } = authorization;
  const signed =
    authorized === null
      ? ["no JobAuthorized is with the lock"]
      : wrongFields("JobAuthorized", authorized.args, { key, requestHash });
  checks.note("lock.authorization", signed, `the key ${key} signed for it`);
}

/** The settlement or the proof: the charge of this text, by the price formula, for what the worker signed. */
export function checkSettled(checks: Checks, story: JobStory, asked: ClientRequest, received: Received): void {
  const { settled, proven } = story;
  const { reply, headers, left } = received;
  const subject = settled ?? proven;
  if (subject === null) return;
  const completion = signedCompletion(subject.args);
  const paid = settled === null ? "was proven and will be paid" : "was paid";
  if (!left) {
    checks.add(
      "proof.text",
      completion.proofHash === reply.hash,
      `the text is the one that ${paid}`,
      `another text ${paid}: the SHA-256 of what was received is ${reply.hash.slice(2)}, paid is ${completion.proofHash.slice(2)}`,
    );
  }
  if (reply.statement !== null && !left) {
    const { completion: said, worker_address } = reply.statement;
    const { worker } = subject.args;
    const wrong = [
      ...wrongFields("service.completion", Object(said), completion),
      ...wrongFields("service", { worker_address }, { worker_address: worker }),
    ];
    checks.note("proof.same", wrong, "the chain has the statement that the reply has");
  }
  if (settled === null) return;
  checkCharge(checks, story, settled);
  const { billedTokens } = decodeUsageWord(settled.args.usage);
  const { usage } = reply;
  const wrong = usage === null ? [] : wrongFields("usage", usage, { completion_tokens: billedTokens });
  if (billedTokens > asked.maxTokens)
    wrong.push(`${billedTokens} output tokens were billed, ${asked.maxTokens} asked for`);
  if (!asked.reasoning && billedTokens > completion.completionTokens)
    wrong.push(`${billedTokens} output tokens were billed, reasoning included that nobody asked for`);
  // No token is shorter than a byte. An answer that is sent again comes without its reasoning.
  const bytes = Buffer.byteLength(reply.text);
  const ofReasoning = headers.has("idempotent-replayed")
    ? Number.POSITIVE_INFINITY
    : Buffer.byteLength(reply.reasoning);
  const most =
    Math.min(completion.completionTokens, bytes) +
    (asked.reasoning ? Math.min(completion.reasoningTokens, ofReasoning) : 0);
  if (!left && billedTokens > most)
    wrong.push(
      `${billedTokens} output tokens were billed; ${most} can be in what was received: ${bytes} bytes of text`,
    );
  checks.note("settlement.tokens", wrong, `${billedTokens} output tokens were billed, as the reply says`);
}

/** The transactions and the balance that the headers name. `isMined`: whether a transaction is in a block. `total`: a wallet's free and escrowed credits. */
export async function checkHeaders(
  checks: Checks,
  story: JobStory,
  { headers }: Received,
  chain: { isMined: (tx: Hex) => Promise<boolean>; total: (wallet: Address) => Promise<number> },
): Promise<void> {
  for (const [id, header, event] of [
    ["headers.escrow_tx", "x-service-tx-hash", story.locked],
    ["headers.settlement_tx", "x-service-settlement-tx", story.settled],
  ] as const) {
    const named = headers.get(header) as Hex | null;
    if (named === null || event === null) continue;
    // A transaction that was replaced by one with a higher fee is in no block: its name was true when it was told.
    const wrong = named !== event.tx && (id === "headers.escrow_tx" || (await chain.isMined(named)));
    checks.add(id, !wrong, `${header} is its transaction`, `${header} is ${named}, but it happened in ${event.tx}`);
  }
  const said = Number(headers.get("x-service-credits-remaining") ?? 0);
  const { wallet, account } = story.locked.args;
  const { free, escrowed } = decodeAccountWord(account);
  // Locks of other jobs make it less, and their returns more: what is free and what is locked bounds it.
  const most = said <= free + escrowed ? free + escrowed : await chain.total(wallet);
  checks.add(
    "headers.credits_remaining",
    said <= most,
    "the balance in the headers can be true",
    `x-service-credits-remaining is ${said}; the wallet has ${most} at most`,
  );
}

/** The job that a reply names, in its headers or else in its body; null for none. */
export function jobOf(headers: Headers, reply?: Reply): Hex | null {
  const [id] = reply?.ids ?? [];
  return fromApiJobId(headers.get("x-service-job-id") ?? String(id).replace("chatcmpl-", ""));
}
