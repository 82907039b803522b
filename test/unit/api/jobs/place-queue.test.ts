/** Who gets a place at a worker, in which order, and what those are told who get none. */
import type { Address } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { SpendingTerms } from "../../../../api/chain/balances.ts";
import { PlaceQueue } from "../../../../api/jobs/place-queue.ts";
import type { Obstacle } from "../../../../api/jobs/wallet-standing.ts";
import type { Demand } from "../../../../api/workers/worker-pool.ts";
import { placeAt, registered } from "../../../support/fake-gateway.ts";
import { spending } from "../../support/jobs.ts";

const model = { number: 1, id: "m", tier: "lite" } as const;
const SECONDS = 30;
/** Of the chain's time, days since 1970. */
const DAY = 20_000;
/** Of two workers that host the model, the one that gets free places here. */
const WORKER = "0x01";

/** Its free places, and all those in its own queue. */
let free: number;
let queued: number;
/** Whether only spare places are left at all workers that could do it. */
let onlySpare: boolean;
let isCapable: boolean;
let congested: boolean;
/** Credits of each wallet, and of its locks on their way. */
let credits: Map<string, number>;
let locking: Map<string, number>;
/** What each wallet allows, if it is known and not all, and what else keeps it from a lock. */
let terms: Map<string, Partial<SpendingTerms>>;
let obstacles: Map<string, Obstacle>;
let served: string[];
let counted: string[];
let queue: PlaceQueue;
let freed: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  [free, queued, isCapable, congested, onlySpare] = [0, 0, true, false, false];
  [credits, locking, terms, obstacles, served, counted] = [new Map(), new Map(), new Map(), new Map(), [], []];
  const workers = {
    capable: () => (isCapable ? [registered()] : []),
    places: () => ({ free, spare: Math.min(free, Math.floor(queued / 8)) }),
    requestEnded: () => counted.push("unserved"),
    keep: (_model: number, { leavesSpare }: Demand, excluded?: ReadonlySet<string>) => {
      if (free === 0 || excluded?.has(WORKER) || (onlySpare && leavesSpare)) return null;
      free -= 1;
      return { ...placeAt(registered()), release: () => give() };
    },
    onFreed: (callBack: () => void) => {
      freed = callBack;
    },
  };
  const standings = {
    whyNot: (wallet: string, asked: number) => {
      const has = credits.get(wallet) ?? 1_000;
      if (has < asked) return "insufficient";
      if (has - (locking.get(wallet) ?? 0) < asked) return "credits";
      return obstacles.get(wallet) ?? null;
    },
    begin: (wallet: string, asked: number) => {
      locking.set(wallet, (locking.get(wallet) ?? 0) + asked);
      const lockEnded = () => {
        locking.set(wallet, (locking.get(wallet) ?? 0) - asked);
        asked = 0;
      };
      return { lockEnded, begun: () => {}, answered: () => {}, ended: lockEnded };
    },
  };
  const balances = {
    left: () => null,
    known: (wallet: string) => ({ free: credits.get(wallet) ?? 1_000, escrowed: 0 }),
    terms: (wallet: string) => ({ ...spending(null).terms(), ...terms.get(wallet) }),
  };
  const pipeline = {
    get congested() {
      return congested;
    },
  };
  const metrics = {
    queueSeconds: { observe: () => counted.push("seconds") },
    queueRefusals: { inc: ({ reason }: { reason: string }) => counted.push(reason) },
  };
  const parts = { workers, balances, standings, operator: { id: 1 }, head: { time: DAY * 86_400 }, pipeline, metrics };
  queue = new PlaceQueue(parts, { seconds: SECONDS, most: 4 });
});
afterEach(() => void vi.useRealTimers());

/** So many places become free. */
function give(count = 1): void {
  free += count;
  freed();
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const told = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

/** A wallet's request; `name` is noted when it is served. */
function ask(
  wallet: string,
  name = wallet,
  { asked = 8, isAuthorized = false, signal = new AbortController().signal } = {},
) {
  const wanted = { wallet: wallet as Address, model, credits: asked, needs: [], isAuthorized };
  const admission = queue.enter(wanted, signal);
  admission.then(
    () => served.push(name),
    () => {},
  );
  return admission;
}
/** A locked job that had to give its place back. */
function again(name: string, { excluded = [] as string[], signal = new AbortController().signal } = {}) {
  const wanted = { wallet: "0x" as const, model, credits: 8, needs: [] };
  const place = queue.again(wanted, new Set(excluded), signal);
  void place.then((one) => one !== null && served.push(name));
  return place;
}

describe("a request", () => {
  it("goes at once where there is a place", async () => {
    free = 1;
    await ask("a");
    expect([free, locking.get("a"), queue.waiting]).toEqual([0, 8, { 1: 0 }]);
  });

  it("waits for a place, in turns between wallets", async () => {
    for (const name of ["a1", "a2", "a3", "b1"]) void ask(name.slice(0, 1), name);
    await pass(1_000);
    expect([served, queue.waiting]).toEqual([[], { 1: 4 }]);
    give(2);
    await pass(1);
    expect([served, queue.waiting]).toEqual([["a1", "b1"], { 1: 2 }]);
    give(2);
    await pass(1);
    expect(served).toEqual(["a1", "b1", "a2", "a3"]);
  });

  it("is refused after its time, and told how long the queue needs", async () => {
    const late = told(ask("a"));
    await pass(SECONDS * 1_000 - 1);
    expect(queue.waiting).toEqual({ 1: 1 });
    await pass(1);
    expect(await late).toMatchObject({ code: "no_workers_available", details: { model: "m", retry_after: 60 } });
    expect([queue.waiting, counted]).toEqual([{ 1: 0 }, ["late", "unserved", "seconds"]]);
  });

  it("is refused at once where the queue is full", async () => {
    const many = [1, 2, 3, 4].map((n) => told(ask("a", `a${n}`)));
    expect(await told(ask("a"))).toMatchObject({
      code: "no_workers_available",
      message: expect.stringContaining("Too many requests wait for a worker of 'm'"),
    });
    // The wallet with the most gives one up for a newcomer.
    void ask("b");
    expect(await many[3]).toMatchObject({ code: "no_workers_available" });
    give(4);
    await pass(1);
    expect([served, counted.filter((what) => what === "full")]).toEqual([
      ["a1", "b", "a2", "a3"],
      ["full", "full"],
    ]);
  });

  it("is refused at once where no worker could ever do it", async () => {
    isCapable = false;
    free = 1;
    await expect(ask("a")).rejects.toMatchObject({ code: "no_workers_available", details: { retry_after: 5 } });
    expect(free).toBe(1);
  });

  it("leaves the queue with its client", async () => {
    const client = new AbortController();
    const left = told(ask("a", "a", { signal: client.signal }));
    void ask("b");
    client.abort(new Error("hung up"));
    expect(await left).toMatchObject({ message: "hung up" });
    give();
    await pass(1);
    expect([served, queue.waiting, counted]).toEqual([["b"], { 1: 0 }, ["left", "seconds", "seconds"]]);
  });

  it("waits while the chain has no room, and is told so when that was in vain", async () => {
    [free, congested] = [1, true];
    const late = told(ask("a"));
    await pass(20_000);
    void ask("b");
    await pass(10_000);
    expect(await late).toMatchObject({ code: "service_unavailable" });
    congested = false;
    await pass(250);
    expect(served).toEqual(["b"]);
  });

  it("waits for its wallet's other locks, and holds up no other wallet meanwhile", async () => {
    credits.set("a", 8);
    free = 3;
    const first = await ask("a", "a1");
    void ask("a", "a2");
    void ask("b");
    await pass(1);
    expect(served).toEqual(["a1", "b"]);
    first.lockEnded();
    await pass(1);
    expect(served).toEqual(["a1", "b", "a2"]);
  });

  it("is told that its wallet's other locks hold the credits to the end", async () => {
    credits.set("a", 8);
    free = 3;
    await ask("a");
    // The second one that waits is never asked: the first is in front of it.
    const late = [told(ask("a")), told(ask("a"))];
    await pass(SECONDS * 1_000);
    for (const error of await Promise.all(late))
      expect(error).toMatchObject({ code: "service_unavailable", message: expect.stringMatching(/Other requests/) });
    expect([free, counted.includes("unserved"), locking.get("a")]).toEqual([2, false, 8]);
  });

  it("may have the last eighth of the places if its wallet holds none", async () => {
    [free, queued] = [4, 16];
    const held = await ask("a", "a1");
    void ask("a", "a2");
    for (const name of ["a3", "a4"]) void ask("a", name);
    await pass(1_000);
    expect([served, free]).toEqual([["a1", "a2"], 2]);
    for (const wallet of ["b", "c", "d"]) void ask(wallet);
    await pass(1);
    expect([served, free]).toEqual([["a1", "a2", "b", "c"], 0]);
    held.jobEnded();
    give();
    await pass(1);
    expect(served).toEqual(["a1", "a2", "b", "c", "d"]);
  });

  it("leaves spare places at the workers that could do it to wallets that hold none", async () => {
    [free, onlySpare] = [3, true];
    for (const name of ["a1", "a2", "b"]) void ask(name.slice(0, 1), name);
    await pass(1);
    expect([served, free]).toEqual([["a1", "b"], 1]);
  });

  it("is refused when its turn comes and the credits are spent", async () => {
    const refused = told(ask("a"));
    void ask("b");
    credits.set("a", 7);
    give();
    await pass(1);
    expect(await refused).toMatchObject({ code: "insufficient_credits", details: { credits_remaining: 7 } });
    expect(served).toEqual(["b"]);
  });

  it.each<[string, Partial<SpendingTerms>, boolean]>([
    ["spending_frozen", { frozen: true }, false],
    ["daily_limit_reached", { dailyLimit: 15, spentToday: 8, spentDay: DAY }, false],
    ["operator_not_chosen", { operator: 2 }, false],
    ["authorization_required", { authorized: true }, false],
    ["authorization_invalid", { authorized: false }, true],
  ])("is refused when its turn comes and the wallet has changed its terms: %s", async (code, changed, isAuthorized) => {
    const refused = [1, 2].map((n) => told(ask("a", `a${n}`, { isAuthorized })));
    void ask("b");
    terms.set("a", changed);
    give(2);
    await pass(1);
    for (const error of await Promise.all(refused)) expect(error).toMatchObject({ code });
    expect([served, locking.get("a"), free]).toEqual([["b"], undefined, 1]);
  });

  it("goes on waiting while its wallet rests, and lets others pass", async () => {
    void ask("a");
    obstacles.set("a", { ms: 2_000, revert: null });
    give();
    void ask("b");
    await pass(1_000);
    expect(served).toEqual(["b"]);
    obstacles.delete("a");
    give();
    await pass(250);
    expect(served).toEqual(["b", "a"]);
  });

  it.each<[Obstacle, number, RegExp]>([
    [{ ms: 1_001, revert: null }, 2, /ended without a charge, so its next request is taken in 2 s/],
    [{ ms: 8_000, revert: "Limits_Frozen" }, 8, /refused locks .* with Limits_Frozen, so its next .* in 8 s/],
    ["account", 5, /account is still being read/],
    ["limit", 5, /hold what is left of its daily limit/],
    ["jobs", 5, /as many unfinished jobs as it may have for now/],
  ])("is told what its wallet had to wait for to the end: %j", async (obstacle, seconds, message) => {
    const refused = told(ask("a"));
    obstacles.set("a", obstacle);
    give();
    await pass(SECONDS * 1_000);
    expect(await refused).toMatchObject({
      code: "service_unavailable",
      message: expect.stringMatching(message),
      details: { retry_after: seconds },
    });
    expect([free, counted.includes("unserved")]).toEqual([1, false]);
  });

  it("is told what only its wallet can change, also if its turn never came", async () => {
    const late = told(ask("a"));
    terms.set("a", { frozen: true });
    await pass(SECONDS * 1_000);
    expect(await late).toMatchObject({ code: "spending_frozen" });
  });

  it("is told to ask for less where places are free, and only cover lacks", async () => {
    const late = told(ask("a"));
    await pass(SECONDS * 1_000 - 1);
    free = 1;
    await pass(1);
    expect(await late).toMatchObject({ message: expect.stringMatching(/8 credits .* fewer max_tokens/) });
  });

  it("is refused when the gateway stops", async () => {
    const waiting = told(ask("a"));
    const locked = again("job");
    queue.close();
    expect(await waiting).toMatchObject({ code: "service_unavailable", details: { retry_after: 1 } });
    give();
    await pass(1);
    expect(await locked).not.toBeNull();
  });
});

describe("a locked job whose worker had no room", () => {
  it("goes before all requests, also into a full queue", async () => {
    for (const name of ["a", "a2", "a3", "a4"]) void ask("a", name);
    void again("job 1");
    void again("job 2");
    for (let n = 0; n < 3; n++) {
      give();
      await pass(1);
    }
    expect(served).toEqual(["job 1", "job 2", "a"]);
  });

  it("holds up no request while it waits for another worker", async () => {
    // A hostile worker says that it is full as long as a job's time allows, and its accomplices' jobs wait for that worker alone.
    const waiting = ["job 1", "job 2", "job 3"].map((name) => again(name, { excluded: [WORKER] }));
    for (const wallet of ["a", "b"]) void ask(wallet);
    give();
    await pass(1);
    expect(served).toEqual(["a"]);
    give();
    await pass(1);
    isCapable = false;
    await pass(250);
    expect([await Promise.all(waiting), served]).toEqual([
      [null, null, null],
      ["a", "b"],
    ]);
  });

  it("is told where nobody else could take it", async () => {
    const waiting = again("job");
    isCapable = false;
    await pass(250);
    expect(await waiting).toBeNull();
  });

  it("leaves the queue when its time is over", async () => {
    const time = new AbortController();
    const waiting = again("job", { signal: time.signal });
    await pass(60_000);
    expect(queue.waiting).toEqual({ 1: 1 });
    time.abort();
    expect([await waiting, queue.waiting]).toEqual([null, { 1: 0 }]);
  });
});
