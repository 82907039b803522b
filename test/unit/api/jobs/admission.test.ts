/** What is looked at before credits are locked, and in which order. */
import { expect, it } from "vitest";
import type { SpendingTerms } from "../../../../api/chain/balances.ts";
import type { Model } from "../../../../api/chain/directory.ts";
import {
  admit,
  lockError,
  type PlannedJob,
  planJob,
  type RequestAuthorization,
  refusalByTerms,
} from "../../../../api/jobs/admission.ts";
import { TokenizerBusy } from "../../../../api/jobs/tokens.ts";
import type { Rest } from "../../../../api/jobs/wallet-standing.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { fakeGateway, headAt, MODEL } from "../../../support/fake-gateway.ts";
import { spending } from "../../support/jobs.ts";

const model: Model = { ...MODEL, contextWindow: 32_768 };

/** A client that stays. */
const STAYS = new AbortController().signal;

/** A wallet with so many credits asks about a text that must be counted. */
function ask(
  free: number,
  {
    maxTokens = 100,
    count = async () => 1_000,
    inTime = null as number | null,
    rest = null as Rest | null,
    isRead = true,
  } = {},
) {
  const counted: string[] = [];
  const parts = fakeGateway({
    head: headAt(() => 1_800_000_000),
    workers: { mostTokens: () => inTime },
    balances: {
      ...spending(null),
      bounded: async () => (isRead ? { free, escrowed: 0 } : null),
    },
    standings: { rest: () => rest },
    tokens: {
      count: (wallet: string) => {
        counted.push(wallet);
        return count();
      },
    },
  });
  const request = { messages: [{ role: "user" as const, content: "x".repeat(100_000) }] };
  const plan: PlannedJob = {
    wallet: "0x01",
    model,
    maxTokens,
    request,
    authorization: null,
  };
  return { counted, admitted: admit(parts, plan, STAYS) };
}

it("counts no token for a wallet that cannot pay the least price", async () => {
  const { counted, admitted } = ask(7);
  await expect(admitted).rejects.toMatchObject({
    code: "insufficient_credits",
    details: { credits_remaining: 7, credits_required: 8 },
  });
  expect(counted).toEqual([]);
});

it("says when to come back while the credits of too many wallets are not known", async () => {
  const { counted, admitted } = ask(100, { isRead: false });
  await expect(admitted).rejects.toMatchObject({ code: "service_unavailable", details: { retry_after: 1 } });
  expect(counted).toEqual([]);
});

it("looks at the whole price once the text is counted", async () => {
  const { counted, admitted } = ask(8, { maxTokens: 10_000 });
  await expect(admitted).rejects.toMatchObject({ code: "insufficient_credits", details: { credits_required: 40 } });
  expect(counted).toEqual(["0x01"]);
});

it("admits what fits and can be paid", async () => {
  await expect(ask(8).admitted).resolves.toMatchObject({ request: { max_tokens: 100 }, credits: 8 });
});

it.each([
  [1_500, 1_500, 8],
  [1_501, 1_500, 8],
  [5_000, null, 20],
])("locks no credits for more than fits the job's time: %i tokens, %s", async (maxTokens, inTime, credits) => {
  await expect(ask(100, { maxTokens, inTime }).admitted).resolves.toMatchObject({
    request: { max_tokens: inTime ?? maxTokens },
    credits,
  });
});

it.each([
  ["2,000 output tokens where nobody names a number", undefined, undefined, 2_000],
  ["the body's number", 30_000, undefined, 30_000],
  ["the authorized number where the body names none and it is below 2,000", undefined, 1_000, 1_000],
  ["2,000 where the body names none and more are authorized", undefined, 5_000, 2_000],
  ["the body's number, whatever is authorized", 3_000, 5_000, 3_000],
])("plans %s", (_, maxTokens, authorized, planned) => {
  const directory = { model: () => model };
  const authorization = authorized === undefined ? null : { signed: { maxTokens: authorized } };
  const body = { model: "m", maxTokens, request: { messages: [] } };
  expect(planJob(directory, "0x01", body, authorization as RequestAuthorization | null).maxTokens).toBe(planned);
});

it("refuses a text that is too long", async () => {
  await expect(ask(8, { count: async () => 32_769 }).admitted).rejects.toMatchObject({
    code: "context_length_exceeded",
  });
});

it.each([
  [1, null, 1, /ended without a charge/],
  [1_001, "Limits_Frozen", 2, /refused locks of the wallet, the last one with Limits_Frozen/],
])("says why a wallet rests and when it has its next turn: %i ms, %s", async (ms, revert, seconds, message) => {
  await expect(ask(8, { rest: { ms, revert } }).admitted).rejects.toMatchObject({
    code: "service_unavailable",
    message: expect.stringMatching(message),
    details: { retry_after: seconds },
  });
});

/** Noon of a day, Unix seconds. */
const [DAY, NOON] = [20_000, 20_000 * 86_400 + 43_200];
it.each<[string, Partial<SpendingTerms>, object | null]>([
  ["frozen", { frozen: true }, { code: "spending_frozen" }],
  ["for another operator", { operator: 2 }, { code: "operator_not_chosen" }],
  ["for authorized requests alone", { authorized: true }, { code: "authorization_required" }],
  ["to the last credit of the day", { dailyLimit: 16, spentToday: 8, spentDay: DAY }, null],
  [
    "one credit beyond it",
    { dailyLimit: 15, spentToday: 8, spentDay: DAY },
    { code: "daily_limit_reached", details: { daily_limit: 15, spent_today: 8, credits_required: 8 } },
  ],
  ["with all of the limit after a day that spent it", { dailyLimit: 8, spentToday: 8, spentDay: DAY - 1 }, null],
  [
    "with none of it left by a block whose day is ahead",
    { dailyLimit: 8, spentToday: 8, spentDay: DAY + 1 },
    { code: "daily_limit_reached" },
  ],
])("judges a wallet's terms for a lock of 8 credits: %s", (_, more, refusal) => {
  const terms = { ...spending(null).terms(), ...more };
  const parts = { operator: { id: 1 }, head: { time: NOON }, balances: { terms: () => terms } };
  const refused = refusalByTerms(parts, { wallet: "0x01", credits: 8, isAuthorized: false });
  if (refusal === null) expect(refused).toBeNull();
  else expect(refused).toMatchObject(refusal);
});

it("says when to come back while too many texts wait to be counted", async () => {
  const count = () => Promise.reject(new TokenizerBusy());
  await expect(ask(8, { count }).admitted).rejects.toMatchObject({
    code: "service_unavailable",
    details: { retry_after: 5 },
  });
});

it.each([
  ["a host is there, and no worker has ever offered it", 1, [], "invalid_request"],
  ["a host is there, and the worker that offers it is away", 1, ["json_object"], "no_workers_available"],
  ["no host is there", 0, [], "no_workers_available"],
])("refuses a form of the answer before anything else where %s", async (_where, hosts, declared, code) => {
  const workers = {
    hosts: () => Array(hosts).fill({}),
    isDeclared: (_model: number, needs: readonly string[]) => needs.every((need) => declared.includes(need)),
    modelsWith: () => [],
    capable: () => [],
  };
  const request = { messages: [], response_format: { type: "json_object" as const } };
  const plan = { wallet: "0x01", model, maxTokens: 100, request, authorization: null };
  await expect(admit(fakeGateway({ workers }), plan as PlannedJob, STAYS)).rejects.toMatchObject({ code });
});

it.each<[string, unknown[], string, object?]>([
  ["Ledger_InsufficientCredits", [3], "insufficient_credits", { credits_remaining: 3, credits_required: 8 }],
  ["Ledger_UnknownAccount", [], "insufficient_credits", { credits_remaining: 0, credits_required: 8 }],
  ["Limits_Frozen", [], "spending_frozen"],
  ["Limits_DailyLimitReached", [8, 14], "daily_limit_reached", { spent_today: 8, daily_limit: 14 }],
  ["Job_OperatorNotChosen", [0], "operator_not_chosen", { operator: 1, chosen_operator: null }],
  ["Job_OperatorNotChosen", [2], "operator_not_chosen", { operator: 1, chosen_operator: 2 }],
  ["Job_MayNotLock", [], "service_unavailable"],
  ["Job_AuthorizationRequired", [], "authorization_required"],
  ["Job_NotAuthorized", ["0x01", "0x02"], "authorization_invalid"],
  ["Job_ModelNotActive", [], "model_not_found"],
  ["Ledger_Paused", [], "service_unavailable"],
  ["Job_LockExpired", [], "service_unavailable"],
  ["Job_WrongState", [], "service_unavailable"],
])("says what the contract refused, as if it had been known: %s %j is %s", (name, args, code, details = {}) => {
  const context = { operator: { id: 1, mayNotLock: null } };
  const job = { jobId: newJobId(), model, credits: 8, authorization: null };
  const error = lockError(context, job, { name, args: ["0x01", ...args] });
  expect(error.code).toBe(code);
  expect(error.details ?? {}).toMatchObject(details);
});
