/** The numbers of a day and of all time are open to everybody: asking for them must not cost a scan of the jobs each time. */
import { expect, it } from "vitest";
import { sharedRead } from "../../../../api/db/pool.ts";
import { type DayRow, jobsBySpan, networkDay, type SpanRow, totalsIn } from "../../../../web/server/network-day.ts";

const HOUR = 3_600;
/** The beginning of ten minutes, Unix seconds. */
const START = 1_700_000_400;

/** A job of worker `w`, locked at a time; without an end it is open. */
const jobAt = (time: number, ends: "settled" | "failed" | "open" = "settled"): DayRow => ({
  start: Math.floor(time / 600) * 600,
  operator: 1,
  model: 1,
  worker: "w",
  jobs: 1,
  settled: Number(ends === "settled"),
  failed: Number(ends === "failed"),
  refunded: 0,
  open: Number(ends === "open"),
  credits: ends === "settled" ? 2 : 0,
  units: 0,
  earned: 0,
});

/** An index whose jobs a test changes; it notes from which time on it was read. */
function world() {
  const state = { now: START, indexed: START, jobs: [] as DayRow[], since: [] as number[] };
  const query = async ({ name, values }: { name: string; values: unknown[] }) => {
    if (name === "index_head") return { rows: [{ blockTime: state.indexed }] };
    const since = values[1] as number;
    state.since.push(since);
    return { rows: state.jobs.filter(({ start }) => start >= since) };
  };
  const day = networkDay({ query } as never, () => state.now * 1000);
  const later = async (seconds: number) => {
    state.now += seconds;
    state.indexed = state.now;
    return (await day()).reduce((sum, { jobs }) => sum + jobs, 0);
  };
  return { state, day, later };
}

it("reads the whole day once, and then only what is not over", async () => {
  const { state, later } = world();
  state.jobs = [jobAt(START - 20 * HOUR), jobAt(START - 2 * HOUR), jobAt(START)];
  expect(await later(60)).toBe(3);
  expect(await later(60)).toBe(3);
  state.jobs.push(jobAt(START + 130));
  expect(await later(60)).toBe(4);
  expect(state.since).toEqual([START - 24 * HOUR + 600, START, START]);
});

it("reads again from the first job that has not ended", async () => {
  const { state, later } = world();
  state.jobs = [jobAt(START - 2 * HOUR, "open"), jobAt(START - HOUR)];
  await later(60);
  state.jobs[0] = jobAt(START - 2 * HOUR);
  await later(60);
  await later(60);
  expect(state.since.slice(1)).toEqual([START - 2 * HOUR, START]);
});

it("keeps nothing that the index has not reached", async () => {
  const { state, day, later } = world();
  await later(0);
  state.now += HOUR;
  await day();
  state.jobs = [jobAt(START + 10)];
  expect(await later(60)).toBe(1);
});

it("forgets what is older than a day", async () => {
  const { state, later } = world();
  state.jobs = [jobAt(START - HOUR)];
  expect(await later(60)).toBe(1);
  expect(await later(23 * HOUR)).toBe(0);
});

/** A shared read that takes a second of the test's clock, and how often it was made. */
function slowly(fails = false) {
  const clock = { now: 0, reads: 0 };
  const read = async () => {
    clock.reads += 1;
    clock.now += 1_000;
    if (fails) throw new Error("no index");
    return clock.reads;
  };
  return { clock, ask: sharedRead(read, () => clock.now) };
}

it("answers all who ask with one read, and pauses 20 times as long as it took", async () => {
  const { clock, ask } = slowly();
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1]);
  clock.now += 19_000;
  expect(await ask()).toBe(1);
  clock.now += 1_000;
  expect(await ask()).toBe(2);
});

it("asks again after a failure, no sooner than after a success", async () => {
  const { clock, ask } = slowly(true);
  for (const [later, reads] of [
    [0, 1],
    [2_999, 1],
    [1, 2],
  ] as const) {
    clock.now += later;
    await expect(ask()).rejects.toThrow("no index");
    expect(clock.reads).toBe(reads);
  }
});

const DAY = 86_400;
const SPAN = DAY / 4;
/** A day's beginning, Unix seconds. */
const TODAY = 20_000 * DAY;

/** When it was locked, and what worker `w` earned with it; without an end: null. */
type PaidJob = { at: number; units: number | null } & Partial<Pick<SpanRow, "operator" | "worker">>;

/** An index of such jobs, which operator 1 locked. A job that earned nothing has failed. */
function paidWorld() {
  const state = { now: TODAY + HOUR, jobs: [] as PaidJob[], since: [] as number[] };
  const query = async ({ name, values }: { name: string; values: number[] }) => {
    if (name === "index_head") return { rows: [{ blockTime: state.now }] };
    const open = state.jobs.filter(({ units }) => units === null).map(({ at }) => at);
    if (name === "index_oldest_open_job") return { rows: [{ oldest: open.length === 0 ? null : Math.min(...open) }] };
    const [, from = 0, until = 0, first = 0] = values;
    state.since.push(from);
    const found = state.jobs.filter(({ at, units }) => units !== null && at >= from);
    const startOf = (at: number) => (at < first ? 0 : Math.floor(at / SPAN) * SPAN);
    const rows = found.map(({ at, units, operator = 1, worker = "w" }) => {
      const settled = Number(units !== 0);
      const ends = { jobs: 1, settled, failed: 1 - settled, refunded: 0, credits: 2 * settled, earned: 0 };
      return { operator, worker, start: startOf(at), over: at < until, ...ends, units };
    });
    return { rows };
  };
  const read = jobsBySpan({ query } as never, () => state.now * 1000);
  const past = async (seconds: number) => {
    state.now += seconds;
    return await read();
  };
  const later = async (seconds: number) => {
    const { ever, week, rows } = await past(seconds);
    return { ever: ever.get("w")?.units, week: week.get("w")?.units, rows };
  };
  return { state, past, later };
}

const earnedIn = ({ rows }: { rows: readonly SpanRow[] }, { from, seconds }: { from: number; seconds: number }) =>
  totalsIn(rows, seconds).get(from)?.units;

it("adds what a worker earns to what it earned, and reads old jobs once", async () => {
  const { state, later } = paidWorld();
  state.jobs = [
    { at: TODAY - 30 * DAY, units: 100 },
    { at: TODAY - 6 * DAY, units: 20 },
    { at: TODAY, units: 3 },
  ];
  expect(await later(60)).toMatchObject({ ever: 123, week: 23 });
  state.jobs.push({ at: state.now, units: 4 });
  expect(await later(60)).toMatchObject({ ever: 127, week: 27 });
  expect(state.since).toEqual([0, TODAY + HOUR + 60]);
  expect(await later(DAY)).toMatchObject({ ever: 127, week: 7 });
});

it("counts the earnings of a job that was settled late", async () => {
  const { state, later } = paidWorld();
  state.jobs = [
    { at: TODAY - DAY, units: null },
    { at: TODAY - HOUR, units: 5 },
  ];
  expect(await later(60)).toMatchObject({ ever: 5, week: 5 });
  state.jobs[0] = { at: TODAY - DAY, units: 7 };
  expect(await later(60)).toMatchObject({ ever: 12, week: 12 });
  expect(await later(60)).toMatchObject({ ever: 12, week: 12 });
});

it("keeps what was earned by six hours of 30 days, older pay only in the sum", async () => {
  const { state, later } = paidWorld();
  const first = TODAY - 29 * DAY;
  state.jobs = [
    { at: first - 1, units: 1 },
    { at: first, units: 2 },
    { at: first + SPAN - 1, units: 4 },
    { at: first + SPAN, units: 8 },
    { at: TODAY, units: 16 },
  ];
  const earned = await later(60);
  expect(earned).toMatchObject({ ever: 31, week: 16 });
  expect(earnedIn(earned, { from: first, seconds: SPAN })).toBe(6);
  expect(earnedIn(earned, { from: first, seconds: DAY })).toBe(14);
  expect(earnedIn(earned, { from: first - DAY, seconds: DAY })).toBeUndefined();
  // A day later the oldest day is only in the sum.
  const next = await later(DAY);
  expect(next).toMatchObject({ ever: 31, week: 16 });
  expect(earnedIn(next, { from: first, seconds: DAY })).toBeUndefined();
});

it("sums the jobs of an hour from its ten minutes", () => {
  const row = {
    operator: 1,
    model: 1,
    worker: "w",
    jobs: 1,
    settled: 1,
    failed: 0,
    refunded: 0,
    open: 0,
    credits: 1,
    earned: 0,
  };
  const rows = [5, 6, 11, 12].map((nth, n) => ({ ...row, start: nth * 600, units: 10 ** n }));
  expect(totalsIn(rows, HOUR).get(HOUR)).toMatchObject({ jobs: 2, credits: 2, units: 110 });
});

it("counts each operator's jobs by six hours, of all workers, also failed ones", async () => {
  const { state, past } = paidWorld();
  state.jobs = [
    { at: TODAY - 40 * DAY, units: 5 },
    { at: TODAY - DAY, units: 7 },
    { at: TODAY - DAY, units: 9, worker: "x" },
    { at: TODAY - DAY + HOUR, units: 0, worker: null },
    { at: TODAY - DAY, units: 11, operator: 2 },
    { at: TODAY, units: null },
  ];
  const of = async (wanted: number, seconds: number) => {
    const rows = (await past(seconds)).rows.filter(({ operator }) => operator === wanted);
    return totalsIn(rows, DAY).get(TODAY - DAY);
  };
  const expected = { jobs: 3, settled: 2, failed: 1, refunded: 0, credits: 4, units: 16, earned: 0 };
  expect(await of(1, 60)).toEqual(expected);
  expect(await of(2, 60)).toMatchObject({ jobs: 1, units: 11 });
  // What is over was read once, and is counted once.
  expect(await of(1, 60)).toEqual(expected);
  expect(state.since).toEqual([0, TODAY, TODAY]);
});
