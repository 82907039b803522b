/** Describes in words the events of a wallet, a worker, an operator or a model. Pure. */
import type { HistoryEvent } from "../../contract.ts";
import { count, credits, momentOf, svc, units as unitsText } from "../ui/format.ts";

/** Text, or what has a page of its own: an address, the number of an operator or of a model. */
export type Part = string | { address: string } | { operator: number } | { model: number };
export type Said = { title: string; says: readonly Part[] };

/** `job.settled` → `settled`, `account.daily_limit_set` → `daily limit set`. */
export const kindOf = (kind: string): string => (kind.split(".")[1] ?? kind).replaceAll("_", " ");

/** Each event of a history, which comes newest first. */
export function inWords(events: readonly HistoryEvent[]): ReadonlyMap<HistoryEvent, Said> {
  const models = modelHistory(events);
  return new Map(
    events.map((event) => {
      const { kind, data } = event;
      return [event, models.get(event) ?? { title: kindOf(kind), says: WORDS[kind]?.(data as Data) ?? [] }];
    }),
  );
}

/** The data of all kinds of events; numbers and addresses as the index has them. */
type Data = Record<
  "credits" | "free" | "operator" | "reserve" | "held" | "most_open" | "leaves_at" | "unbonds_at",
  number
> &
  Record<"units" | "receiver" | "admin" | "signer" | "owner" | "payout" | "endpoint" | "added" | "stake", string> & {
    daily_limit: number | null;
    frozen: boolean;
    key: string | null;
    hosted: boolean;
    models: number[];
  };

const stakeOf = (millionths: string): string => svc(BigInt(millionths));

const WORDS: Record<string, (data: Data) => Part[]> = {
  "account.deposited": ({ credits: bought, free }) => [`${credits(bought)} bought; ${count(free)} free afterwards`],
  "account.withdrawn": ({ credits: paid, free, receiver }) => [
    `${credits(paid)} paid out to `,
    { address: receiver },
    `; ${count(free)} free afterwards`,
  ],
  "account.operator_chosen": ({ operator }) =>
    operator === 0 ? ["no operator may lock its credits"] : [{ operator }, " may lock its credits"],
  "account.limits_set": ({ daily_limit, frozen }) => [
    daily_limit === null ? "no limit a day" : `at most ${credits(daily_limit)} a day`,
    frozen ? "; frozen: nothing is locked" : "",
  ],
  "account.authorization_key_set": ({ key }) =>
    key === null ? ["its jobs need no signature"] : [{ address: key }, " must sign each of its jobs"],
  "account.dispute_key_set": ({ key, most_open }) =>
    key === null
      ? ["no key may dispute for it"]
      : [{ address: key }, ` may have ${count(most_open)} disputes open for it`],
  "operator.admin_set": ({ admin }) => [{ address: admin }, " decides for it"],
  "operator.signer_added": ({ signer }) => [{ address: signer }, " signs for it"],
  "operator.signer_removed": ({ signer }) => [{ address: signer }, " signs for it no more"],
  "operator.reserve_changed": ({ reserve, held }) => [
    `the reserve is ${credits(reserve)}; disputes hold ${count(held)} of it`,
  ],
  "operator.reserve_leaving": ({ credits: leaving, leaves_at }) => [
    leaving === 0
      ? "the announced withdrawal is called off"
      : `${credits(leaving)} can be taken out from ${momentOf(leaves_at)} on`,
  ],
  "operator.earnings_withdrawn": ({ units: earned, receiver }) => [
    `${unitsText(BigInt(earned), 6)} USDG that it earned paid out to `,
    { address: receiver },
  ],
  "worker.registered": ({ owner, payout, endpoint }) => [
    "owned by ",
    { address: owner },
    ", paid to ",
    { address: payout },
    `, at ${shortened(endpoint)}`,
  ],
  "worker.stake_added": ({ added, stake }) => [`${stakeOf(added)} more; the stake is ${stakeOf(stake)}`],
  "worker.stake_withdrawn": ({ stake, receiver }) => [`${stakeOf(stake)} paid out to `, { address: receiver }],
  "worker.payout_set": ({ payout }) => ["paid to ", { address: payout }],
  "worker.endpoint_set": ({ endpoint }) => [`reached at ${shortened(endpoint)}`],
  "worker.hosting_set": ({ hosted, models }) => [
    hosted ? "hosts " : "hosts no more ",
    ...models.flatMap((model, index): Part[] => (index === 0 ? [{ model }] : [", ", { model }])),
  ],
  "worker.unbonding_started": ({ unbonds_at }) => [`takes no jobs; its stake is free from ${momentOf(unbonds_at)} on`],
  "worker.unbonding_cancelled": () => ["takes jobs again"],
};

/** A worker chooses its endpoint, however long. */
const shortened = (text: string): string => (text.length > 90 ? `${text.slice(0, 90)}…` : text);

type Price = { credits_per_request: number; credits_per_1k_tokens: number };
type Announced = Price & { effective_at: number };
type Listing = Price & { context_window: number };

/** A model's events, in the words of whoever pays for it. What a price was before is known where its listing is among them. */
function modelHistory(events: readonly HistoryEvent[]): ReadonlyMap<HistoryEvent, Said> {
  const said = new Map<HistoryEvent, Said>();
  let now: Price | null = null;
  let next: Announced | null = null;
  for (const [index, event] of [...events.entries()].toReversed()) {
    const { kind, data, occurred_at } = event;
    if (next !== null && next.effective_at * 1_000 <= Date.parse(occurred_at)) now = next;
    if (kind === "model.listed") {
      const { context_window, ...price } = data["listing"] as Listing;
      now = price;
      const rest = `context window of ${count(context_window)} tokens; tier ${data["tier"]}`;
      said.set(event, { title: "listed", says: [`${priceIn(price, null)}; ${rest}`] });
    } else if (kind === "model.prices_scheduled") {
      next = data as Announced;
      const from = next.effective_at;
      const later = events.slice(0, index).findLast((one) => one.kind === kind);
      const isReplaced = later !== undefined && Date.parse(later.occurred_at) < from * 1_000;
      const when = isReplaced ? "replaced before it was in force" : `in force from ${momentOf(from)}`;
      said.set(event, { title: "new price announced", says: [`${priceIn(next, now)}; ${when}`] });
    } else if (kind === "model.retirement_scheduled") {
      said.set(event, {
        title: "end announced",
        says: [`takes no jobs from ${momentOf(Number(data["retires_at"]))} on`],
      });
    }
  }
  return said;
}

/** `20 → 25 credits per 1,000 output tokens; least charge 40 credits` */
const priceIn = (price: Price, before: Price | null): string =>
  [
    `${changed(before?.credits_per_1k_tokens, price.credits_per_1k_tokens)} per 1,000 output tokens`,
    `least charge ${changed(before?.credits_per_request, price.credits_per_request)}`,
  ].join("; ");

const changed = (from: number | undefined, to: number): string =>
  from === undefined || from === to ? credits(to) : `${count(from)} → ${credits(to)}`;
