import { isAddressEqual } from "viem";
import { ChainStatus } from "../job-status.ts";
import type { Authorization } from "../messages.ts";
import { quote } from "../pricing.ts";
import { tierName } from "../tiers.ts";
import { ACCOUNT_FROZEN, ACCOUNT_LIMITED, decodeAccountWord } from "../words.ts";
import { type CallOf, callsIn, callsOf } from "./calls.ts";
import { type Checks, type JobEvidence, wrongFields } from "./evidence.ts";
import { type CompactSignature, messageSigner } from "./signatures.ts";
import type { JobStory } from "./story.ts";
import { authorizationKeyAt, chosenOperatorAt, feeAt, isInOffice, isPaused, isStopped, modelTermsAt } from "./terms.ts";

/** Longest time an Authorization is signed ahead (`AUTHORIZATION_SPAN`), and how far its id's time may be from the block's (`ID_SPAN`). */
const AUTHORIZATION_SPAN = 600;
const ID_SPAN = 300;

/** The lock: who made it, with whose consent, at whose price, and how much it holds. */
export async function checkLock(checks: Checks, story: JobStory, evidence: JobEvidence): Promise<void> {
  checkWord(checks, story, evidence);
  checkPrices(checks, story, evidence);
  checkConsent(checks, story, evidence);

  const { locked, jobId } = story;
  const calls = callsIn(evidence, locked.tx);
  const authorized = callsOf(calls, "lockAuthorized").find(({ args }) => args[0].jobId.toLowerCase() === jobId);
  const plain = callsOf(calls, "lock").find(({ args }) => args[2].toLowerCase() === jobId);
  const asked = authorized ? termsOfAuthorized(authorized) : plain ? termsOfPlain(plain) : null;
  const transaction = evidence.transactions.get(locked.tx);
  if (transaction === undefined || asked === null) {
    const says = `the lock's call is not in the calldata of ${locked.tx}: its price cannot be recomputed`;
    checks.add("lock.calldata", false, "", says);
  } else {
    checkCall(checks, story, evidence, asked);
    const { operator } = story.word;
    const sender = transaction.from;
    const inOffice = isInOffice(evidence.configuration, sender, operator, locked);
    checks.add(
      "lock.operator",
      inOffice && !isStopped(evidence.configuration, operator, locked),
      `${sender}, a signer of operator ${operator}, locked it`,
      `JobLocked.job.operator is ${operator}, but ${sender}, who locked it, ${inOffice ? "was stopped with its operator" : "was no signer of it then"}`,
    );
  }
  await checkAuthorization(checks, story, evidence, authorized ?? null);
}

/** What a lock was asked for; `before`: it must be mined before this time. */
type Asked = { wallet: string; model: number; maxTokens: number; maxCredits: number; before: number };

const termsOfPlain = ({ args }: CallOf<"lock">): Asked => {
  const [wallet, model, , maxTokens, maxCredits, before] = args;
  return { wallet, model, maxTokens, maxCredits, before };
};
const termsOfAuthorized = ({ args: [{ expiresAt, ...terms }] }: CallOf<"lockAuthorized">): Asked => ({
  ...terms,
  before: expiresAt,
});

function checkCall(
  checks: Checks,
  { locked, word }: JobStory,
  { timeOf }: JobEvidence,
  { wallet, model, maxTokens, maxCredits, before }: Asked,
): void {
  const { args } = locked;
  const price = quote(maxTokens, word);
  checks.add(
    "lock.credits",
    price === args.credits && args.credits <= maxCredits,
    `${args.credits} credits were locked: the price of ${maxTokens} output tokens, within the limit of ${maxCredits}`,
    `JobLocked.credits is ${args.credits}, but ${maxTokens} output tokens cost ${price} and the limit was ${maxCredits}`,
  );
  const wrong = [...wrongFields("JobLocked", args, { wallet }), ...wrongFields("JobLocked.job", word, { model })];
  if (timeOf(locked.block) >= before) wrong.push(`it was mined at ${timeOf(locked.block)}, valid before ${before}`);
  checks.add("lock.call", wrong.length === 0, "wallet, model and time are those that were asked for", wrong.join("; "));
}

/** The job's word is that of a new job, with what the event says beside it. */
function checkWord(checks: Checks, { locked, word }: JobStory, { timeOf }: JobEvidence): void {
  const { credits, account } = locked.args;
  checks.fields(
    "lock.word",
    "JobLocked.job",
    word,
    {
      account: decodeAccountWord(account).id,
      worker: 0,
      credits,
      lockedAt: timeOf(locked.block),
      deadline: 0,
      attempt: 0,
      status: ChainStatus.Locked,
    },
    "the job was stored as a new one, with the block's time",
  );
}

function checkPrices(checks: Checks, { locked, word }: JobStory, { configuration, timeOf }: JobEvidence): void {
  const time = timeOf(locked.block);
  const { tier } = locked.args;
  const terms = modelTermsAt(configuration, word.model, locked, time, timeOf);
  if (terms === null) {
    const says = `JobLocked.job.model is ${word.model}, which was not in the catalog when the job was locked`;
    checks.add("lock.prices", false, "", says);
  } else {
    const { creditsPerRequest, creditsPer1kTokens } = terms;
    const wrong = [
      ...wrongFields("JobLocked.job", word, { creditsPerRequest, creditsPer1kTokens }),
      ...wrongFields("JobLocked", { tier }, { tier: terms.tier }),
    ];
    checks.add(
      "lock.prices",
      wrong.length === 0,
      `the price snapshot (${creditsPerRequest} a request, ${creditsPer1kTokens} per 1,000 tokens, tier ${tierName(terms.tier)}) is the catalog's for ${terms.id} at that time`,
      `the price snapshot is not the catalog's for ${terms.id}: ${wrong.join("; ")}`,
    );
    checks.add(
      "lock.model",
      terms.retiresAt === 0 || time < terms.retiresAt,
      `${terms.id} was not retired`,
      `JobLocked.job.model is ${word.model}: ${terms.id} was retired at ${terms.retiresAt}, before the lock at ${time}`,
    );
  }
  const feeBps = feeAt(configuration, locked, time, timeOf);
  const good = `the fee snapshot (${word.feeBps / 100} %) is the one in force at that time`;
  checks.fields("lock.fee", "JobLocked.job", word, { feeBps }, good);
}

/** The wallet had chosen this operator, and its limits allowed the lock. */
function checkConsent(checks: Checks, { locked, word }: JobStory, evidence: JobEvidence): void {
  const { walletHistory, configuration } = evidence;
  const operator = chosenOperatorAt(ownEvents(evidence, locked.args.wallet), locked);
  const good = `the wallet had chosen operator ${operator}`;
  checks.fields("lock.choice", "JobLocked.job", word, { operator }, good);

  // The account's word follows from the wallet's history (balance.after); here: that it allowed this lock.
  const { flags, spentToday, dailyLimit } = decodeAccountWord(locked.args.account);
  const frozen = (flags & ACCOUNT_FROZEN) !== 0;
  const beyond = (flags & ACCOUNT_LIMITED) !== 0 && spentToday > dailyLimit;
  const paused = isPaused(configuration, locked);
  checks.add(
    "lock.limits",
    !frozen && !beyond && !paused && walletHistory.length > 0,
    "the wallet's limits allowed it",
    paused
      ? "locks were paused"
      : frozen
        ? "the wallet had frozen its spending"
        : `JobLocked.account.spentToday is ${spentToday}, above the wallet's limit of ${dailyLimit} a day`,
  );
}

/** A wallet with an authorization key has each of its locks signed by that key. */
async function checkAuthorization(
  checks: Checks,
  { locked, authorized, word, jobId }: JobStory,
  evidence: JobEvidence,
  call: CallOf<"lockAuthorized"> | null,
): Promise<void> {
  const key = authorizationKeyAt(ownEvents(evidence, locked.args.wallet), locked);
  if (key === null && authorized === null) return;
  if (key === null || authorized === null || authorized.tx !== locked.tx) {
    const says =
      key === null
        ? `JobAuthorized.key is ${authorized?.args.key}, but the wallet had no authorization key`
        : `the wallet's authorization key ${key} had to sign the lock, but no JobAuthorized says that it did`;
    checks.add("lock.authorization", false, "", says);
    return;
  }
  const good = `the wallet's authorization key ${key} signed for it`;
  if (!checks.fields("lock.authorization", "JobAuthorized", authorized.args, { key }, good)) return;
  if (call === null) return;
  const [authorization, byKey]: readonly [Authorization, CompactSignature] = call.args;
  const { requestHash, operator, expiresAt } = authorization;
  const signer = await messageSigner(
    [evidence.chainId, evidence.addresses.escrow],
    "Authorization",
    authorization,
    byKey,
  );
  const time = evidence.timeOf(locked.block);
  const idTime = Math.floor(Number(BigInt(jobId) >> 80n) / 1_000);
  const wrong = [
    ...wrongFields("JobAuthorized", authorized.args, { requestHash }),
    ...wrongFields("JobLocked.job", word, { operator }),
  ];
  if (signer === null || !isAddressEqual(signer, key))
    wrong.push(`the authorization is signed by ${signer}, not by ${key}`);
  if (expiresAt > time + AUTHORIZATION_SPAN) wrong.push(`it expires at ${expiresAt}, too long after ${time}`);
  if (Math.abs(idTime - time) > ID_SPAN) wrong.push(`its id is of ${idTime}, too far from ${time}`);
  checks.add(
    "lock.signature",
    wrong.length === 0,
    `what it signed allows this lock and this request`,
    wrong.join("; "),
  );
}

/** Events of the wallet's own account. */
const ownEvents = ({ walletHistory }: JobEvidence, wallet: string) =>
  walletHistory.filter(({ args }) => (args as { wallet?: string }).wallet?.toLowerCase() === wallet.toLowerCase());
