/** Disputes a charge for another answer than the client got: the client asks the service to open the dispute, else its wallet opens it. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Address, createWalletClient, custom, type Hex, type LocalAccount, zeroHash } from "viem";
import { toProofHash } from "../protocol/answer-hash.ts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import { toApiJobId } from "../protocol/job-id.ts";
import {
  type Completion,
  compactSignature,
  type DisputeRequest,
  disputeRequestTypes,
  escrowDomain,
} from "../protocol/messages.ts";
import { receiptOf } from "../protocol/receipt.ts";
import { signedCompletion } from "../protocol/words.ts";
import { firstLine } from "../verify/chain.ts";
import type { EscrowEvent } from "../verify/events.ts";
import type { JobStory } from "../verify/story.ts";
import type { ChainView } from "./chain.ts";
import type { Finding } from "./findings.ts";
import type { Statement } from "./reply.ts";

/** Asks the service in the name of the program's key. */
export type Ask = (method: "GET" | "POST", path: string, body?: unknown) => Promise<{ status: number; body: unknown }>;
/** Takes what was done, or could not be done. */
type Tell = (kind: Finding["kind"], id: Finding["id"], says: string) => void;
/** `signer`: the wallet itself or, with `keyOf`, the dispute key of that wallet; it pays the gas of what it sends. */
export type DisputeContext = {
  chain: ChainView;
  signer: LocalAccount | null;
  keyOf: Address | null;
  ask: Ask;
  tell: Tell;
};

type Sender = Omit<DisputeContext, "ask">;
/** The arguments of the event of an operator's dispute. */
type Opened = EscrowEvent<"JobDisputed">["args"];
/** For calls that look at no signature. */
const UNSIGNED = { r: zeroHash, vs: zeroHash };

/** Time for a node to show the last block of a window, milliseconds. */
export const LATE = 10_000;
/** Most time that the service has to open a dispute, and the pause before it is asked again, milliseconds. */
const SERVICE_TIME = 35_000;
const PAUSE = 1_000;
/** Longest pause before it is asked again for an answer, milliseconds. */
const MOST_PAUSE = 15_000;
/** How long the chain may take to show a dispute that the service says it has opened, milliseconds. */
const SEEN = 5_000;
/** How long a request that a dispute key signed is valid, seconds. */
const REQUEST_TIME = 120;

/** The words of a finding about a node that did not answer. */
export const unread = (error: unknown): string => `the chain could not be read: ${firstLine(error)}`;

/** Opens a dispute of the job with `hash`, or says why there is none. Returns the transaction that opened it. */
export async function openDispute(context: DisputeContext, story: JobStory, hash: Hex): Promise<Hex | null> {
  const { chain, signer, tell } = context;
  const ends = await disputableUntil(chain, story);
  const left = ends - Date.now();
  const answer = await askService(context, story.jobId, { hash, until: Date.now() + Math.min(SERVICE_TIME, left / 3) });
  // Only the chain is believed on whether there is one, not the service.
  const wait = answer.opened ? SEEN : 0;
  const isOver = ({ disputes }: JobStory) => disputes.length > 0;
  const seen = await chain.watch({ jobId: story.jobId, from: story.locked.block, isOver, end: Date.now() + wait });
  const dispute = seen?.disputes.at(-1);
  if (dispute !== undefined) {
    const { tx, args } = dispute.opened;
    tell("done", "dispute.opened", `a dispute is open, by ${tx}`);
    if (args.byOperator) await joinDispute(context, args, hash);
    return tx;
  }
  if (signer === null) {
    const until = new Date(ends).toISOString();
    tell(
      "wrong",
      "dispute.refused",
      `the service opened no dispute (${answer.says}); the wallet itself can until ${until}`,
    );
    return null;
  }
  const subject = story.settled ?? story.proven;
  const completion = signedCompletion((subject as NonNullable<typeof subject>).args);
  const { r, vs } = story.settled?.args ?? { r: zeroHash, vs: zeroHash };
  // A proven job can still be settled for more than its proof says, and the bond rises with the charge. The lock bounds both.
  const maxBond = story.locked.args.credits;
  const tx = await sendDispute(context, { hash, completion, byWorker: { r, vs }, maxBond });
  if (tx.hash !== null)
    tell(
      "done",
      "dispute.opened",
      `the service refused (${answer.says}), so the wallet opened a dispute of ${subject?.tx}, by ${tx.hash}`,
    );
  else tell("wrong", "dispute.refused", `the service refused (${answer.says}), and so did the chain: ${tx.says}`);
  return tx.hash;
}

/** Adds the wallet's own hash to a dispute that the operator opened: arbiters read each dispute that its wallet stands by. */
async function joinDispute(context: Sender, opened: Opened, hash: Hex): Promise<void> {
  const { signer, tell } = context;
  const { jobId, receivedHash: told, workerHash: proofHash } = opened;
  if (told !== hash) {
    tell(
      "wrong",
      "dispute.unasked",
      `the operator opened a dispute with the hash ${told.slice(2)}; received was ${hash.slice(2)}`,
    );
  }
  if (signer === null) return;
  // If a dispute key joins, the contract looks only at the job and the hash of the Completion.
  const counts = { promptTokens: 0, completionTokens: 0, reasoningTokens: 0, textBytes: 0 };
  const completion = { jobId, proofHash, ...counts, completedAt: 0 };
  const tx =
    context.keyOf === null
      ? await send(context, "joinDispute", [jobId, hash])
      : await sendDispute(context, { hash, completion, byWorker: UNSIGNED, maxBond: 0 });
  if (tx.hash !== null) tell("done", "dispute.joined", `the wallet stands by its hash in the dispute, by ${tx.hash}`);
  else tell("wrong", "dispute.refused", `the wallet could not add its hash to the dispute: ${tx.says}`);
}

/**
 * Until nobody can dispute the charge, looks whether the operator does so in the client's name. The process need not stay for it. `hash`: of what
 * was received; null where that is not the whole answer. It keeps nothing else of the job: there can be thousands.
 */
export async function watchDisputes(
  {
    onFinding,
    ...context
  }: Pick<DisputeContext, "chain" | "signer" | "keyOf"> & { onFinding: (finding: Finding) => void },
  { jobId, from, hash }: { jobId: Hex; from: bigint; hash: Hex | null },
): Promise<void> {
  const tell: Tell = (kind, id, says) => onFinding({ kind, id, jobId: toApiJobId(jobId), says });
  try {
    const { windows } = await context.chain.deployment();
    const end = Date.now() + (windows.dispute + windows.inclusion) * 1000 + LATE;
    const opened = (await context.chain.watchDispute({ jobId, from, end }))?.args;
    if (!opened?.byOperator) return;
    const told = opened.receivedHash;
    // The wallet stands by no hash of half a text.
    if (hash !== null) return await joinDispute({ ...context, tell }, opened, hash);
    const says = `the operator opened a dispute with the hash ${told.slice(2)}; here the whole answer is not known`;
    tell("wrong", "dispute.unasked", says);
  } catch (error) {
    tell("unchecked", "chain.unreachable", unread(error));
  }
}

/** Proves that a worker signed two answers for one job. */
export async function proveEquivocation(context: DisputeContext, story: JobStory, statement: Statement): Promise<void> {
  const { signer, tell } = context;
  const says = `worker ${statement.worker_address} signed two answers for this job`;
  if (signer === null || story.settled === null) {
    tell(
      "wrong",
      "dispute.equivocation",
      `${says}: anybody can prove that to the escrow (proveEquivocation), and its stake is lost`,
    );
    return;
  }
  const { r, vs } = story.settled.args;
  const first = [signedCompletion(story.settled.args), { r, vs }];
  const second = [statement.completion, compactSignature(statement.signature)];
  const tx = await send(context, "proveEquivocation", [...first, ...second]);
  if (tx.hash !== null) tell("done", "dispute.equivocation", `${says}; the wallet proved it, by ${tx.hash}`);
  else tell("wrong", "dispute.equivocation", `${says}; the proof was refused: ${tx.says}`);
}

/** When the wallet can open a dispute at the latest, milliseconds. */
export async function disputableUntil(chain: ChainView, { settled, proven }: JobStory): Promise<number> {
  if (settled === null) return (proven?.args.finalizeFrom ?? 0) * 1000;
  const { windows } = await chain.deployment();
  const { timestamp } = await chain.client.getBlock({ blockNumber: settled.block });
  return (Number(timestamp) + windows.dispute + windows.inclusion) * 1000;
}

/** Asks the service until it answers for good, or until `until`. */
async function askService(
  { ask }: DisputeContext,
  jobId: Hex,
  { hash, until }: { hash: Hex; until: number },
): Promise<{ opened: boolean; says: string }> {
  const path = `/jobs/${toApiJobId(jobId)}/dispute`;
  for (let says = "it did not answer"; ; ) {
    try {
      const { status, body } = await within(until, ask("POST", path, { received_output_hash: toProofHash(hash) }));
      const answer = Object(body) as { dispute_opened?: boolean; error?: { code?: string } };
      const code = String(answer.error?.code ?? "no error code").slice(0, 60);
      says = status === 200 ? `dispute_opened is ${answer.dispute_opened === true}` : `${status} ${code}`;
      if (status === 200 || code === "dispute_already_open")
        return { opened: answer.dispute_opened === true || status !== 200, says };
      if (status < 500 && status !== 429 && code !== "job_not_settled") return { opened: false, says };
    } catch (error) {
      says = firstLine(error);
    }
    if (Date.now() + PAUSE >= until) return { opened: false, says };
    await sleep(PAUSE);
  }
}

/** The answer that the service keeps. `withheld`: it says that it keeps none. `says`: its last reply. */
type Output = { content: string | null; withheld: boolean; says: string };

/** Asks the service for an answer until it hands it out, or says that it has none, or until `until`. */
export async function askOutput(ask: Ask, path: string, until: number): Promise<Output> {
  for (let pause = PAUSE, says = "it did not answer"; ; pause = Math.min(2 * pause, MOST_PAUSE)) {
    try {
      const { status, body } = await within(until, ask("GET", path));
      const { content, error } = Object(body) as { content?: unknown; error?: { code?: string } };
      if (status === 200 && typeof content === "string") return { content, withheld: false, says: "200" };
      const code = String(error?.code ?? "no error code").slice(0, 60);
      says = `${status} ${code}`;
      if (status === 404 && code === "output_not_found") return { content: null, withheld: true, says };
    } catch (error) {
      says = firstLine(error);
    }
    if (Date.now() + pause >= until) return { content: null, withheld: false, says };
    await sleep(pause);
  }
}

function within<T>(until: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("it did not answer in time")), Math.max(0, until - Date.now()));
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

/** The answer in dispute, and the most credits that a dispute key allows as a bond for it. */
type Disputed = { hash: Hex; completion: Completion; byWorker: { r: Hex; vs: Hex }; maxBond: number };

/** Opens a dispute in the wallet's own name, or by what its dispute key signs. */
async function sendDispute(context: Sender, { hash, completion, byWorker, maxBond }: Disputed): Promise<Sent> {
  const { chain, signer, keyOf } = context;
  if (keyOf === null) return await send(context, "openDispute", [hash, completion, byWorker]);
  try {
    const [{ chainId }, [key, keySequence], { timestamp }] = await Promise.all([
      chain.deployment(),
      chain.disputeKeyOf(keyOf),
      chain.client.getBlock(),
    ]);
    const account = signer as LocalAccount;
    if (key !== account.address)
      return { hash: null, says: `the wallet's dispute key is ${key}, not ${account.address}` };
    const expiresAt = Math.max(Math.floor(Date.now() / 1000), Number(timestamp)) + REQUEST_TIME;
    const { jobId, proofHash: workerHash } = completion;
    const request = { jobId, receivedHash: hash, workerHash, maxBond, keySequence, expiresAt };
    const byKey = await signDispute(account, { chainId, escrow: chain.escrow }, request);
    return await send(context, "disputeByKey", [hash, completion, byWorker, maxBond, expiresAt, byKey]);
  } catch (error) {
    return { hash: null, says: firstLine(error) };
  }
}

/**
 * Signs a dispute of one job with a wallet's dispute key. Anyone can bring it to the chain (`disputeByKey` of the escrow).
 *
 * @param request `receivedHash` and `workerHash` are SHA-256, as `JobSettled` has the worker's; `maxBond` in credits; `keySequence` as
 * `disputeKeyOf` says; `expiresAt` in Unix seconds, at most ten minutes ahead.
 * @example
 * const byKey = await signDispute(privateKeyToAccount(key), { chainId: 31337, escrow }, request);
 */
export async function signDispute(
  key: LocalAccount,
  { chainId, escrow }: { chainId: number; escrow: Address },
  request: DisputeRequest,
): Promise<{ r: Hex; vs: Hex }> {
  const typed = { domain: escrowDomain(chainId, escrow), types: disputeRequestTypes, message: request };
  return compactSignature(await key.signTypedData({ ...typed, primaryType: "DisputeRequest" }));
}

type Sent = { hash: Hex; says?: never } | { hash: null; says: string };

/** Transactions of one wallet go out one after the other: each needs the next nonce. */
const lanes = new WeakMap<LocalAccount, Promise<unknown>>();

/** A transaction of the wallet to the escrow, mined. */
function send({ chain, signer }: Sender, functionName: string, args: unknown[]): Promise<Sent> {
  const { client, escrow } = chain;
  const account = signer as LocalAccount;
  const write = async (): Promise<Sent> => {
    try {
      const wallet = createWalletClient({ account, transport: custom(client) });
      const call = { address: escrow, abi: inferenceEscrowAbi, functionName, args, chain: null };
      const hash = await wallet.writeContract(call as never);
      const { status } = await receiptOf(client, hash, { timeout: 60_000 });
      return status === "success" ? { hash } : { hash: null, says: `${hash} reverted` };
    } catch (error) {
      return { hash: null, says: firstLine(error) };
    }
  };
  const sent = (lanes.get(account) ?? Promise.resolve()).then(write);
  lanes.set(account, sent);
  return sent;
}
