/**
 * How the places of a process, its attempts at once, are shared. Wallets take turns, however many webhooks and deliveries each has. Half of the
 * places is for prompt webhooks alone: they are known to answer soon, and their wallet has credits and did not lapse. Webhooks that are not prompt
 * share the other half, of which wallets without credits get half. A wallet lapses when its prompt webhook answers late: otherwise a webhook could
 * answer soon just often enough to hold its places until the limit again and again.
 */

/**
 * How fast a webhook's endpoint answered last. new: nothing was sent to it yet · slow: it answered late · silent: it did not answer in
 * time, or there was no connection.
 */
export type Pace = "new" | "prompt" | "slow" | "silent";

/** A webhook with deliveries that are due. `since`: when the oldest of them was due, ms since the epoch. */
export type DueWebhook = { id: string; wallet: string; pace: Pace; due: number; since: number };

/** Attempts at once of a new or silent webhook. */
const UNPROVEN_AT_ONCE = 2;

/** A group of one wallet's webhooks that share places: all of them if it has no credits (`unpaid`), else its prompt ones, or its others. */
export type Lane = { wallet: string; kind: "prompt" | "others" | "unpaid" };
const laneKey = ({ wallet, kind }: Lane): string => `${wallet} ${kind}`;

/** Attempts that run now. */
export class Running {
  readonly #lanes = new Map<string, number>();
  readonly #webhooks = new Map<string, number>();
  readonly #kinds = { prompt: 0, others: 0, unpaid: 0 };

  /** Notes that an attempt begins (1) or is over (-1). */
  change(webhook: string, lane: Lane, by: 1 | -1): void {
    add(this.#lanes, laneKey(lane), by);
    add(this.#webhooks, webhook, by);
    this.#kinds[lane.kind] += by;
  }

  ofLane = (lane: Lane): number => this.#lanes.get(laneKey(lane)) ?? 0;
  ofWebhook = (id: string): number => this.#webhooks.get(id) ?? 0;
  get notPrompt(): number {
    return this.#kinds.others + this.#kinds.unpaid;
  }
  /** Attempts for wallets without credits. */
  get unpaid(): number {
    return this.#kinds.unpaid;
  }
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

export type Places = {
  /** Free places of all, of those that are not prompt, and among them of wallets without credits. */
  free: number;
  notPrompt: number;
  unpaid: number;
  /** Attempts at once of one lane. */
  perLane: number;
  running: Pick<Running, "ofLane" | "ofWebhook">;
  /** When a wallet's last attempt that was not prompt began, ms since the epoch. */
  served: ReadonlyMap<string, number>;
  hasCredits: (wallet: string) => boolean;
  /** Whether a prompt webhook of the wallet answered late a short time ago. */
  hasLapsed: (wallet: string) => boolean;
};

/** A delivery that could have a place. `turn`: how many attempts its lane would then have at once. */
type Slot = { webhook: string; lane: Lane; turn: number; served: number; since: number };

/** How many deliveries of each webhook are attempted now, and in which lane. */
export function shareOut(due: readonly DueWebhook[], places: Places): Map<string, { most: number; lane: Lane }> {
  const laneOf = ({ wallet, pace }: DueWebhook): Lane => {
    if (!places.hasCredits(wallet)) return { wallet, kind: "unpaid" };
    return { wallet, kind: pace === "prompt" && !places.hasLapsed(wallet) ? "prompt" : "others" };
  };
  const lanes = Map.groupBy(due, (webhook) => laneKey(laneOf(webhook)));
  const slots = [...lanes.values()].flatMap((webhooks) => slotsOf(laneOf(webhooks[0] as DueWebhook), webhooks, places));
  // If the webhooks that are not prompt need more than their places, wallets with credits come first, and among equals the wallet that has waited
  // longest.
  const of = (kind: Lane["kind"]) => slots.filter(({ lane }) => lane.kind === kind);
  const inTurn = (a: Slot, b: Slot) => a.turn - b.turn || a.served - b.served || a.since - b.since;
  const unpaid = of("unpaid").sort(inTurn).slice(0, Math.max(0, places.unpaid));
  const notPrompt = [...of("others").sort(inTurn), ...unpaid].slice(0, Math.max(0, places.notPrompt));
  const chosen = [...of("prompt"), ...notPrompt]
    .sort((a, b) => a.turn - b.turn || a.since - b.since)
    .slice(0, Math.max(0, places.free));
  const shares = new Map<string, { most: number; lane: Lane }>();
  for (const { webhook, lane } of chosen) shares.set(webhook, { most: (shares.get(webhook)?.most ?? 0) + 1, lane });
  return shares;
}

/** The slots of one lane. Its webhooks take turns: those with the fewest attempts running first, and among equals whoever has waited longest. */
function slotsOf(lane: Lane, webhooks: readonly DueWebhook[], places: Places): Slot[] {
  const served = places.served.get(lane.wallet) ?? 0;
  const running = places.running.ofLane(lane);
  return webhooks
    .flatMap(({ id, pace, due, since }) => {
      const own = places.running.ofWebhook(id);
      const most = pace === "new" || pace === "silent" ? UNPROVEN_AT_ONCE : places.perLane;
      const length = Math.max(0, Math.min(due, most - own));
      return Array.from({ length }, (_, n) => ({ webhook: id, since, ownTurn: own + n + 1 }));
    })
    .sort((a, b) => a.ownTurn - b.ownTurn || a.since - b.since)
    .slice(0, Math.max(0, places.perLane - running))
    .map(({ webhook, since }, n) => ({ webhook, lane, turn: running + n + 1, served, since }));
}
