/** The lock: who made it, with whose consent, at whose price, and how much it holds. */
import { ChainStatus } from "../protocol/job-status.ts";
import { quote, sharePercent } from "../protocol/pricing.ts";
import { tierName } from "../protocol/tiers.ts";
import { ACCOUNT_FROZEN, ACCOUNT_LIMITED, decodeAccountWord } from "../protocol/words.ts";
import { type CallOf, isSigner, jobCalls, signerOf } from "./calls.ts";
import { type Checks, wrongFields } from "./checks.ts";
import type { Job } from "./story.ts";
import { authorizationKey, chosenOperator } from "./terms.ts";

/** Longest time an Authorization is signed ahead (`AUTHORIZATION_SPAN`), and how far its id's time may be from the block's (`ID_SPAN`). */
const AUTHORIZATION_SPAN = 600;
const ID_SPAN = 300;

export async function checkLock(checks: Checks, job: Job): Promise<void> {
  checkWord(checks, job);
  checkPrices(checks, job);
  checkConsent(checks, job);
  const { locked } = job.story;
  const [authorized] = jobCalls(job, locked.tx, "lockAuthorized");
  const [plain] = jobCalls(job, locked.tx, "lock");
  const asked = authorized ? termsOfAuthorized(authorized) : plain ? termsOfPlain(plain) : null;
  if (asked === null) {
    const says = `the lock's call is not in the calldata of ${locked.tx}: its price cannot be recomputed`;
    checks.note("lock.calldata", [says], "");
  } else {
    checkCall(checks, job, asked);
    checkOperator(checks, job);
  }
  await checkAuthorization(checks, job, authorized ?? null);
}

/** The job's word is that of a new job, with what the event says beside it. */
function checkWord(checks: Checks, { story: { locked, word }, timeOf }: Job): void {
  const { credits, account } = locked.args;
  const fresh = { worker: 0, deadline: 0, attempt: 0, status: ChainStatus.Locked };
  const expected = { ...fresh, account: decodeAccountWord(account).id, credits, lockedAt: timeOf(locked.block) };
  const good = "the job was stored as a new one, with the block's time";
  checks.note("lock.word", wrongFields("JobLocked.job", word, expected), good);
}

function checkPrices(checks: Checks, { story: { locked, word }, terms, timeOf }: Job): void {
  const model = terms.model(word.model, locked);
  if (model === null) {
    const says = `JobLocked.job.model is ${word.model}, which was not in the catalog when the job was locked`;
    checks.note("lock.prices", [says], "");
  } else {
    const { id, tier, retiresAt, creditsPerRequest, creditsPer1kTokens } = model;
    const wrong = [
      ...wrongFields("JobLocked.job", word, { creditsPerRequest, creditsPer1kTokens }),
      ...wrongFields("JobLocked", locked.args, { tier }),
    ];
    checks.add(
      "lock.prices",
      wrong.length === 0,
      `the price snapshot (${creditsPerRequest} a request, ${creditsPer1kTokens} per 1,000 tokens, tier ${tierName(tier)}) is the catalog's for ${id} at that time`,
      `the price snapshot is not the catalog's for ${id}: ${wrong.join("; ")}`,
    );
    const time = timeOf(locked.block);
    checks.add(
      "lock.model",
      retiresAt === 0 || time < retiresAt,
      `${id} was not retired`,
      `JobLocked.job.model is ${word.model}: ${id} was retired at ${retiresAt}, before the lock at ${time}`,
    );
  }
  const { feeBps = null, operatorShare = null } = terms.fee(locked) ?? {};
  const wrong = wrongFields("JobLocked.job", word, { feeBps, operatorShare });
  const share = `, of which the operator has ${sharePercent(word.operatorShare)} %`;
  checks.note("lock.fee", wrong, `the fee snapshot (${word.feeBps / 100} %${share}) is the one in force at that time`);
}

/** The wallet had chosen this operator, and its limits allowed the lock. */
function checkConsent(checks: Checks, job: Job): void {
  const { locked, word } = job.story;
  const operator = chosenOperator(ownEvents(job), locked);
  const wrong = wrongFields("JobLocked.job", word, { operator });
  checks.note("lock.choice", wrong, `the wallet had chosen operator ${operator}`);

  // The account's word follows from the wallet's history (balance.after); here: that it allowed this lock.
  const { flags, spentToday, dailyLimit } = decodeAccountWord(locked.args.account);
  const refusals: string[] = [];
  if (job.terms.isPaused(locked)) refusals.push("locks were paused");
  else if (flags & ACCOUNT_FROZEN) refusals.push("the wallet had frozen its spending");
  else if ((flags & ACCOUNT_LIMITED && spentToday > dailyLimit) || job.walletHistory.length === 0) {
    refusals.push(`JobLocked.account.spentToday is ${spentToday}, above the wallet's limit of ${dailyLimit} a day`);
  }
  checks.note("lock.limits", refusals, "the wallet's limits allowed it");
}

/** The terms that a lock was asked with. `before`: it must be mined before this time. */
type LockTerms = { wallet: string; model: number; maxTokens: number; maxCredits: number; before: number };

const termsOfPlain = ({ args }: CallOf<"lock">): LockTerms => {
  const [wallet, model, , maxTokens, maxCredits, before] = args;
  return { wallet, model, maxTokens, maxCredits, before };
};
const termsOfAuthorized = ({ args: [{ expiresAt, ...terms }] }: CallOf<"lockAuthorized">): LockTerms => ({
  ...terms,
  before: expiresAt,
});

function checkCall(checks: Checks, { story: { locked, word }, timeOf }: Job, asked: LockTerms): void {
  const { args } = locked;
  const { wallet, model, maxTokens, maxCredits, before } = asked;
  const price = quote(maxTokens, word);
  checks.add(
    "lock.credits",
    price === args.credits && args.credits <= maxCredits,
    `${args.credits} credits were locked: the price of ${maxTokens} output tokens, within the limit of ${maxCredits}`,
    `JobLocked.credits is ${args.credits}, but ${maxTokens} output tokens cost ${price} and the limit was ${maxCredits}`,
  );
  const wrong = [...wrongFields("JobLocked", args, { wallet }), ...wrongFields("JobLocked.job", word, { model })];
  if (timeOf(locked.block) >= before) wrong.push(`it was mined at ${timeOf(locked.block)}, valid before ${before}`);
  checks.note("lock.call", wrong, "wallet, model and time are those that were asked for");
}

function checkOperator(checks: Checks, { story: { locked, word }, terms, transactions }: Job): void {
  const { operator } = word;
  const sender = transactions.get(locked.tx)?.from;
  const inOffice = sender !== undefined && terms.isInOffice(sender, operator, locked);
  checks.add(
    "lock.operator",
    inOffice && !terms.isStopped(operator, locked),
    `${sender}, a signer of operator ${operator}, locked it`,
    `JobLocked.job.operator is ${operator}, but ${sender}, who locked it, ${inOffice ? "was stopped with its operator" : "was no signer of it then"}`,
  );
}

/** A wallet with an authorization key has each of its locks signed by that key. */
async function checkAuthorization(checks: Checks, job: Job, call: CallOf<"lockAuthorized"> | null): Promise<void> {
  const { locked, authorized, word, jobId } = job.story;
  const key = authorizationKey(ownEvents(job), locked);
  if (key === null && authorized === null) return;
  if (key === null || authorized === null || authorized.tx !== locked.tx) {
    const says =
      key === null
        ? `JobAuthorized.key is ${authorized?.args.key}, but the wallet had no authorization key`
        : `the wallet's authorization key ${key} had to sign the lock, but no JobAuthorized says that it did`;
    checks.note("lock.authorization", [says], "");
    return;
  }
  const other = wrongFields("JobAuthorized", authorized.args, { key });
  const isNamed = checks.note("lock.authorization", other, `the wallet's authorization key ${key} signed for it`);
  if (!isNamed || call === null) return;
  const [authorization, byKey] = call.args;
  const { requestHash, operator, expiresAt } = authorization;
  const signer = await signerOf(job, "Authorization", authorization, byKey);
  const time = job.timeOf(locked.block);
  const idTime = Math.floor(Number(BigInt(jobId) >> 80n) / 1_000);
  const wrong = [
    ...wrongFields("JobAuthorized", authorized.args, { requestHash }),
    ...wrongFields("JobLocked.job", word, { operator }),
  ];
  if (!isSigner(signer, key)) wrong.push(`the authorization is signed by ${signer}, not by ${key}`);
  if (expiresAt > time + AUTHORIZATION_SPAN) wrong.push(`it expires at ${expiresAt}, too long after ${time}`);
  if (Math.abs(idTime - time) > ID_SPAN) wrong.push(`its id is of ${idTime}, too far from ${time}`);
  checks.note("lock.signature", wrong, "what it signed allows this lock and this request");
}

/** Events of the wallet's own account. */
export const ownEvents = ({ walletHistory, story }: Job) => {
  const wallet = story.locked.args.wallet.toLowerCase();
  return walletHistory.filter(({ args }) => (args as { wallet?: string }).wallet?.toLowerCase() === wallet);
};
