/** What happened to a model, in the words of whoever pays for it. Pure. */
import type { HistoryEvent } from "../data/types.ts";
import { count, credits, moment } from "../ui/format.ts";

export type Said = { title: string; text: string };

type Price = { credits_per_request: number; credits_per_1k_tokens: number };
type Announced = Price & { effective_at: number };
type Listing = Price & { context_window: number };

const timeOf = (seconds: number): string => moment(new Date(seconds * 1_000).toISOString());

/** Each event of a model's history, which comes newest first. What a price was before is known where its listing is among them. */
export function modelHistory(events: readonly HistoryEvent[]): ReadonlyMap<HistoryEvent, Said> {
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
      said.set(event, { title: "listed", text: `${priceIn(price, null)}; ${rest}` });
    } else if (kind === "model.prices_scheduled") {
      next = data as Announced;
      const from = next.effective_at;
      const later = events.slice(0, index).findLast((one) => one.kind === kind);
      const isReplaced = later !== undefined && Date.parse(later.occurred_at) < from * 1_000;
      const when = isReplaced ? "replaced before it was in force" : `in force from ${timeOf(from)}`;
      said.set(event, { title: "new price announced", text: `${priceIn(next, now)}; ${when}` });
    } else if (kind === "model.retirement_scheduled") {
      said.set(event, { title: "end announced", text: `takes no jobs from ${timeOf(Number(data["retires_at"]))} on` });
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
