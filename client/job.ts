/** One job of the program, from the end of its reply until nothing more can happen to its charge. */
import type { Address, Hex, LocalAccount } from "viem";
import { toApiJobId } from "../protocol/job-id.ts";
import { Checks } from "../verify/checks.ts";
import { type JobStory, statusName } from "../verify/story.ts";
import type { ChainView } from "./chain.ts";
import { checkHeaders, checkLocked, checkReply, checkSettled, type Received, signedStatement } from "./check.ts";
import {
  type Ask,
  askOutput,
  type DisputeContext,
  disputableUntil,
  LATE,
  openDispute,
  proveEquivocation,
  unread,
  watchDisputes,
} from "./dispute.ts";
import type { Finding, FindingId, JobReport } from "./findings.ts";
import type { Statement } from "./reply.ts";
import type { ClientRequest } from "./request.ts";

/** The chain, the key with which disputes are opened, and the functions that are told of findings. */
export type JobContext = {
  chain: ChainView;
  signer: LocalAccount | null;
  /** The wallet whose dispute key the signer is; null for the wallet itself. */
  keyOf: Address | null;
  onFinding: (finding: Finding) => void;
  onJob: (report: JobReport) => void;
};

/** How long a lock may take to be shown after a whole answer, milliseconds: the worker signed when it was mined. */
const MINED_LOCK = 15_000;
/** The same after a part of an answer, which can have begun on a promise of the lock: that is mined within `LOCK_SECONDS` of gateways (20), or never. */
const PROMISED_LOCK = 20_000 + LATE;
/** Nothing more happens to the job unless somebody disputes it: it is paid for, will be, or came back. */
export const isOver = ({ settled, returned, proven }: JobStory): boolean =>
  settled !== null || returned !== null || proven !== null;

/** Checks the job and acts on what is wrong. Never rejects: what cannot be looked at is a finding. */
export class JobCheck {
  readonly #context: JobContext;
  readonly #asked: ClientRequest;
  readonly #received: Received;
  readonly #ask: Ask;
  readonly #checks = new Checks();
  /** The reply's statement, where it is signed as it says. */
  #signed: Statement | null = null;
  #told = 0;
  #unchecked = false;
  #disputeTx: Hex | null = null;

  constructor(context: JobContext, asked: ClientRequest, received: Received, ask: Ask) {
    this.#context = context;
    this.#asked = asked;
    this.#received = received;
    this.#ask = ask;
  }

  async run(): Promise<void> {
    let story: JobStory | null = null;
    try {
      story = await this.#follow();
    } catch (error) {
      this.#unreachable(error);
    }
    this.#report(story);
    if (story === null) void this.#awaitLock();
  }

  /** The reply did nothing but refuse, so no job is expected. */
  get #isRefusal(): boolean {
    return !this.#received.ok;
  }

  async #follow(): Promise<JobStory | null> {
    const { chain } = this.#context;
    const { reply, jobId } = this.#received;
    const deployment = await chain.deployment();
    if (reply.complete) {
      this.#signed = signedStatement(deployment, reply.statement);
      checkReply(this.#checks, this.#asked, this.#received, this.#signed !== null);
      this.#tellNew();
    }
    const story = await this.#found(jobId);
    return story === null ? null : await this.#followLocked(story);
  }

  /** A signed authorization can be used for a lock until it expires, whatever the reply was. The process need not stay for it. */
  async #awaitLock(): Promise<void> {
    const { chain } = this.#context;
    const { authorization } = this.#asked;
    if (authorization === null || this.#isRefusal) return;
    const end = authorization.expiresAt * 1000 + LATE;
    try {
      const from = await this.#asked.from;
      const watched = { jobId: this.#received.jobId, from, isOver: () => true, end, background: true };
      const story = await chain.watch(watched);
      if (story !== null) await this.#followLocked(story);
    } catch (error) {
      this.#unreachable(error);
    }
  }

  /** Follows a job from its lock to its end, and acts on what is wrong. */
  async #followLocked(story: JobStory): Promise<JobStory> {
    const { chain } = this.#context;
    const { reply } = this.#received;
    const { windows } = await chain.deployment();
    const whole = reply.complete;
    const model = await this.#modelOf(story);
    checkLocked(this.#checks, story, this.#asked, { model, operator: await this.#operatorOf(story) });
    await this.#checkWorker(model?.number ?? 0);
    this.#tellNew();

    const { completion, inclusion } = windows;
    const end = Math.max(Date.now(), this.#asked.askedAt) + (completion + inclusion) * 1000 + LATE;
    const background = this.#isRefusal;
    const ended = isOver(story)
      ? story
      : ((await chain.watch({ ...this.#place(story), isOver, end, background })) ?? story);
    if (ended.settled === null && ended.proven === null) {
      // Nothing was charged. What was promised and not settled costs the operator.
      if (ended.returned === null)
        this.#note(
          "settlement.found",
          "it is neither settled nor failed; its credits can be had back by anybody (refund)",
        );
      else if (whole) this.#note("settlement.found", "the answer was not settled: its credits came back");
      return ended;
    }
    if (!whole && this.#received.answered()) return ended;
    if (!whole) await this.#fetchOutput(ended);
    checkSettled(this.#checks, ended, this.#asked, this.#received);
    await checkHeaders(this.#checks, ended, this.#received, {
      isMined: (hash) =>
        chain.client.getTransactionReceipt({ hash }).then(
          () => true,
          () => false,
        ),
      total: async (wallet) => {
        const { free, escrowed } = await chain.account(wallet);
        return free + escrowed;
      },
    });
    this.#tellNew();
    await this.#act(ended);
    return ended;
  }

  /** The job on the chain, once it is seen; null if it is not there. */
  async #found(jobId: Hex): Promise<JobStory | null> {
    const { chain } = this.#context;
    const { authorization, again } = this.#asked;
    const from = again ? await this.#earlierBlock() : await this.#asked.from;
    // A signed authorization can be used until it expires, whatever the reply says.
    const expires = this.#isRefusal && authorization !== null ? authorization.expiresAt * 1000 : 0;
    const { reply, ok } = this.#received;
    const end = Math.max(expires, Date.now() + (ok && !reply.complete ? PROMISED_LOCK : MINED_LOCK));
    const story = await chain.watch({ jobId, from, isOver: () => true, end, background: this.#isRefusal });
    if (story === null && !this.#isRefusal && !reply.failed) {
      const says =
        (await chain.status(jobId)) === 0
          ? "the chain has no such job"
          : "the chain has it from long before this request";
      this.#note("lock.found", `${says}: nobody was paid for this reply, and nobody stands for it`);
    }
    return story;
  }

  /** The block from which on to look for a job whose answer is sent again: the job is older than this request. */
  async #earlierBlock(): Promise<bigint> {
    const { chain } = this.#context;
    const hash = this.#received.headers.get("x-service-tx-hash") as Hex | null;
    const receipt = hash === null ? null : await chain.client.getTransactionReceipt({ hash }).catch(() => null);
    return receipt?.blockNumber ?? (await this.#asked.from);
  }

  #place = ({ jobId, locked }: JobStory) => ({ jobId, from: locked.block });

  /** The model with the prices in force; they are read again where the lock has others. */
  async #modelOf({ word }: JobStory) {
    const { chain } = this.#context;
    const model = await chain.model(this.#asked.model);
    const same =
      model?.creditsPerRequest === word.creditsPerRequest && model.creditsPer1kTokens === word.creditsPer1kTokens;
    return same ? model : await chain.model(this.#asked.model, true);
  }

  async #operatorOf({ word }: JobStory): Promise<number | null> {
    const { chain } = this.#context;
    const { wallet } = this.#asked;
    if (wallet === null) return null;
    const operator = await chain.operatorOf(wallet);
    return operator === word.operator ? operator : await chain.operatorOf(wallet, true);
  }

  async #checkWorker(model: number): Promise<void> {
    const { chain } = this.#context;
    if (this.#signed === null) return;
    const worker = this.#signed.worker_address;
    const known = await chain.isWorker(worker, model);
    this.#checks.add(
      "proof.worker",
      known,
      `${worker} is a registered worker of the model`,
      `${worker}, who signed it, is no worker that may take this model's jobs`,
    );
  }

  /** The rest of an answer that the program has not: it must be to be had, and go on as it began. */
  async #fetchOutput(story: JobStory): Promise<void> {
    const { reply, jobId, left } = this.#received;
    const path = `/jobs/${toApiJobId(jobId)}/output`;
    const ends = await disputableUntil(this.#context.chain, story);
    // A proven job can be disputed for an hour. The service has its answer within the time of a settlement, or the worker withholds it.
    const { completion, inclusion } = (await this.#context.chain.deployment()).windows;
    const settles = (story.word.lockedAt + completion + inclusion) * 1000 + LATE;
    const until = Date.now() + ((ends - Date.now()) * 2) / 3;
    const asked = story.settled === null ? Math.min(until, settles) : until;
    const { content, withheld, says } = await askOutput(this.#ask, path, asked);
    const { credits } = story.settled?.args ?? story.locked.args;
    const charged = `${credits} credits are charged, but the answer broke off after ${reply.text.length} characters`;
    if (content !== null) {
      const goesOn = content.startsWith(reply.text);
      const bad = "the answer that is kept is not the one that was streamed";
      this.#checks.add("reply.output", goesOn, "the answer goes on as it began", bad);
      if (goesOn) reply.text = content;
      this.#received.left = false;
    } else if (left || !withheld) {
      // The hash of half a text gives no reason to dispute.
      this.#received.left = true;
      const until = `the wallet can dispute until ${new Date(ends).toISOString()}`;
      this.#tell("unchecked", "reply.output", `${charged}; ${path} does not hand out the rest (${says}); ${until}`);
    }
    if (left || this.#received.left) return;
    const where = content !== null ? `; the rest is at ${path}` : ", and the rest is not to be had";
    this.#note("settlement.unanswered", `${charged}${where}`);
  }

  /** Disputes a charge for another text, and what else the contract punishes. */
  async #act(story: JobStory): Promise<void> {
    const { left, jobId } = this.#received;
    const context: DisputeContext = { ...this.#context, ask: this.#ask, tell: (...what) => this.#tell(...what) };
    const { hash } = this.#received.reply;
    const paid = (story.settled ?? story.proven)?.args.proofHash;
    // A reply that names a job of another request gives no reason to dispute that one: it would cost the wallet its bond.
    if (this.#checks.list.some(({ id, holds }) => id === "lock.time" && !holds)) return;
    if (paid !== hash && !left) this.#disputeTx = await openDispute(context, story, hash);
    else void watchDisputes(this.#context, { ...this.#place(story), hash: left ? null : hash });
    const said = this.#signed;
    const same = said?.worker_address.toLowerCase() === story.worker?.toLowerCase();
    if (said !== null && same && said.completion.proofHash !== paid && said.completion.jobId === jobId) {
      await proveEquivocation(context, story, said);
    }
  }

  /** A check that does not hold. */
  #note(id: FindingId, says: string): void {
    this.#checks.note(id, [says], "");
    this.#tellNew();
  }

  #tellNew(): void {
    const { list } = this.#checks;
    for (; this.#told < list.length; this.#told += 1) {
      const check = list[this.#told];
      if (check !== undefined && !check.holds) this.#tell("wrong", check.id as FindingId, check.says);
    }
  }

  #unreachable(error: unknown): void {
    this.#tell("unchecked", "chain.unreachable", unread(error));
  }

  #tell(kind: Finding["kind"], id: FindingId, says: string): void {
    if (kind === "unchecked") this.#unchecked = true;
    this.#context.onFinding({ kind, id, jobId: toApiJobId(this.#received.jobId), says });
  }

  #report(story: JobStory | null): void {
    if (story === null && this.#isRefusal) return;
    this.#context.onJob({
      jobId: toApiJobId(this.#received.jobId),
      holds: this.#checks.holds && !this.#unchecked,
      status: story === null ? null : this.#disputeTx === null ? statusName(story.status) : "disputed",
      creditsLocked: story?.locked.args.credits ?? 0,
      creditsCharged: story?.settled?.args.credits ?? 0,
      receivedHash: this.#received.reply.hash,
      disputeTx: this.#disputeTx,
      checks: this.#checks.list,
    });
  }
}
