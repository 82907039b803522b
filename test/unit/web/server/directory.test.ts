/** The pages of the network and the explorer are open to everyone, and read on the connections that jobs need. */
import { expect, it } from "vitest";
import { toApiJobId } from "../../../../protocol/job-id.ts";
import { serveWebApi } from "../../support/web-api.ts";

const signer = (n: number) => `0x${String(n).repeat(40)}`;
const worker = (n: number) => ({
  signer: signer(n),
  number: n,
  owner: signer(n),
  payout: signer(n),
  endpoint: `https://${n}.example.com`,
  stake: "5",
  unbondsAt: null,
  active: true,
  models: [],
  registeredAt: 1_700_000_000,
});
const JOB_ID = "0x018f3b5c0a1b7c2d8e3f405162738495";
const slash = (n: number) => ({
  jobId: JOB_ID,
  worker: signer(n),
  amount: String(n),
  stake: "0",
  reason: "equivocation",
  position: n,
  blockTime: 1_700_000_000,
  txHash: "0x",
});

/** Asks a web application whose database answers from `rows`, by name of the statement; and which statements it was asked. */
async function ask(path: string, rows: Record<string, unknown[]>) {
  const asked: string[] = [];
  const url = await serveWebApi((statement) => {
    asked.push(statement);
    return rows[statement] ?? [];
  });
  const reply = await fetch(`${url}/${path}`);
  return { reply, asked };
}

it("takes fewer sign-ins of an address than other requests: they can make rows", async () => {
  const { reply } = await ask("session", {});
  expect(reply.status).toBe(200);
  expect(reply.headers.get("ratelimit-policy")).toMatch(/q=50; w=1;/);
});

it.each(["account", "settings", "webhooks"])(
  "takes as few requests of an address for /%s: a wallet that has nothing can have each ask the node",
  async (path) => {
    const { reply } = await ask(path, {});
    expect(reply.status).toBe(401);
    expect(reply.headers.get("ratelimit-policy")).toMatch(/q=50; w=1;/);
  },
);

it("asks the database as often for three workers as for one", async () => {
  const one = await ask("workers", { index_workers: [worker(1)] });
  expect(one.reply.status).toBe(200);
  const rows = { index_workers: [1, 2, 3].map(worker), index_slashes: [slash(3), slash(1)] };
  const three = await ask("workers", rows);
  expect(three.asked).toEqual(one.asked);
  const { data } = (await three.reply.json()) as { data: { number: number; slashes: { amount: string }[] }[] };
  expect(data.map(({ number, slashes }) => [number, slashes.map(({ amount }) => amount)])).toEqual([
    [1, ["1"]],
    [2, []],
    [3, ["3"]],
  ]);
});

it.each(["workers", "models", "operators"])("allows one address 50 readings of /%s a second", async (path) => {
  const { reply } = await ask(`${path}`, {});
  expect(reply.headers.get("ratelimit-policy")).toContain("q=50; w=1");
});

it.each([
  "models/no-such-model",
  "workers/9",
  "models/no-such-model/observed",
  "workers/9/observed",
  "operators/9/observed",
  "workers/0x1",
  "operators/1%20OR%201",
  "operators/x/gas",
  "operators/-1/gas",
  "operators/1234567890/gas",
  "explorer/blocks/latest",
  "explorer/blocks/99999999999",
  "explorer/addresses/0x12",
  "explorer/find/0xzz",
])("answers /%s with 404", async (path) => {
  const { reply } = await ask(`${path}`, {});
  expect(reply.status).toBe(404);
  expect(((await reply.json()) as { error: { code: string } }).error.code).toBe("not_found");
});

it("refuses a page of jobs after an unknown job", async () => {
  const { reply } = await ask(`explorer/addresses/${signer(1)}?before=job_1`, {});
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: "invalid_request", param: "before" } });
});

it("shows a worker's page by its number and by its address, in any case", async () => {
  for (const id of ["1", signer(1), signer(1).toUpperCase()]) {
    const { reply } = await ask(`workers/${id}`, { index_worker: [worker(1)] });
    expect(await reply.json()).toMatchObject({ number: 1, jobs: [], history: [], jobs_24h: 0, success_24h: null });
  }
});

const SUMS = {
  looks: 4,
  up: 3,
  requests: 2,
  failures: 1,
  firstTokens: 1,
  firstTokenMs: 120,
  tokens: 60,
  tokenMs: 1_500,
};
const SEEN = { requests: 2, failures: 1, uptime: 0.75, first_token_ms: 120, tokens_per_second: 40 };

it("charts a worker, and a model with its workers; those gone have no number", async () => {
  const start = Math.floor(Date.now() / 3_600_000) * 3_600;
  const rows = {
    index_worker: [worker(1)],
    index_workers_of: [worker(1)],
    index_models: [{ number: 1, id: "m" }],
    "observed-worker": [{ ...SUMS, start }],
    "observed-model": ["", signer(1), signer(2)].map((one) => ({ ...SUMS, worker: one, start })),
  };
  type Spans = { spans: object[] };
  const ofWorker = (await (await ask("workers/1/observed", rows)).reply.json()) as Spans;
  expect(ofWorker.spans).toHaveLength(24);
  expect(ofWorker.spans.at(-1)).toMatchObject(SEEN);
  const ofModel = (await (await ask("models/m/observed?range=24h", rows)).reply.json()) as Spans & {
    workers: (Spans & { number: number | null })[];
  };
  expect(ofModel.workers.map(({ number, spans }) => [number, spans.at(-1)])).toEqual([
    [1, expect.objectContaining(SEEN)],
    [null, expect.objectContaining(SEEN)],
  ]);
});

it("reads the charts of a worker once for all visitors, each range by itself", async () => {
  const asked: string[] = [];
  const url = await serveWebApi((statement) => {
    asked.push(statement);
    return statement === "index_worker" ? [worker(1)] : [];
  });
  const look = async (range: string) =>
    expect((await fetch(`${url}/workers/1/observed?range=${range}`)).status).toBe(200);
  await Promise.all(Array.from({ length: 5 }, () => look("7d")));
  await look("7d");
  await look("30d");
  expect(asked.filter((one) => one === "observed-worker")).toHaveLength(2);
});

it("refuses charts of a time that is not kept", async () => {
  const { reply } = await ask("workers/1/observed?range=12m", { index_worker: [worker(1)] });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: "invalid_request", param: "range" } });
});

it("counts a worker's success by this operator's jobs and its seen failures", async () => {
  const day = {
    start: 600,
    operator: 1,
    model: 1,
    worker: signer(1),
    jobs: 9,
    settled: 9,
    failed: 0,
    open: 0,
    credits: 18,
    units: 162,
  };
  const { reply } = await ask("workers", {
    index_workers: [worker(1)],
    index_network_day: [day, { ...day, operator: 2, settled: 5, units: 90 }],
    "worker-failed-jobs": [{ worker: signer(1), failures: 1 }],
  });
  expect(((await reply.json()) as { data: object[] }).data[0]).toMatchObject({
    jobs_24h: 14,
    earned_24h: 252,
    success_24h: 0.9,
  });
});

it("shows what a worker earned in all and in seven days, and what it is owed", async () => {
  const today = Math.floor(Date.now() / 86_400_000);
  const earned = { worker: signer(1), over: true };
  const { reply } = await ask("workers/1", {
    index_worker: [worker(1)],
    index_jobs_by_span: [
      { ...earned, start: 0, units: 1_000 },
      { ...earned, start: (today - 6) * 86_400, units: 200 },
      { ...earned, start: today * 86_400, units: 30 },
      { ...earned, worker: signer(2), start: today * 86_400, units: 4 },
    ],
    index_treasury_debts: [{ jobId: JOB_ID, units: 5 }],
  });
  expect(await reply.json()).toMatchObject({
    earned_total: 1_230,
    earned_7d: 230,
    owed: [{ job_id: toApiJobId(JOB_ID), units: 5 }],
  });
});

it("says what a worker earns an hour ready and an hour at work, from a minute on", async () => {
  const charged = { start: 600, model: 1, worker: signer(1), jobs: 1, settled: 1, failed: 0, open: 0, credits: 2 };
  const hourly = async (time: object[]) => {
    const { reply } = await ask("workers", {
      index_workers: [worker(1)],
      index_network_day: [
        { ...charged, operator: 1, units: 18_000 },
        { ...charged, operator: 2, units: 6_000 },
      ],
      "observed-work": time,
    });
    return ((await reply.json()) as { data: { hourly: unknown }[] }).data[0]?.hourly;
  };
  expect(await hourly([])).toBeNull();
  expect(await hourly([{ worker: signer(1), asked: 12, atWork: 0.5 }])).toEqual({
    asked: { hours: 12, units: 2_000 },
    at_work: { hours: 0.5, units: 36_000 },
  });
  const minute = 1 / 60;
  expect(await hourly([{ worker: signer(1), asked: minute, atWork: minute * 0.99 }])).toMatchObject({
    asked: { units: 1_440_000 },
    at_work: { units: null },
  });
});

const operator = {
  number: 1,
  admin: signer(1),
  stopped: false,
  reserve: 100,
  held: 0,
  leaving: null,
  leavesAt: null,
  signers: [],
  admittedAt: 1_700_000_000,
  earned: 7_000,
};

it("shows how the disputes of an operator's jobs ended, and which it lost", async () => {
  const lost = {
    jobId: JOB_ID,
    wallet: signer(2),
    ruling: "gateway_at_fault",
    openedAt: 1,
    ruleFrom: 1,
    ruleBefore: 2,
  };
  const { reply } = await ask("operators/1", {
    index_operators: [operator],
    index_disputes_by_operator: [
      { operator: 1, ruling: "gateway_at_fault", disputes: 2, paid: 90 },
      { operator: 1, ruling: "open", disputes: 1, paid: 0 },
      { operator: 2, ruling: "rejected", disputes: 7, paid: 5 },
    ],
    index_disputes_lost_by: [{ ...lost, byOperator: false, resolvedAt: 2 }],
    index_network_day: [
      {
        start: 600,
        operator: 1,
        model: 1,
        worker: null,
        jobs: 3,
        settled: 2,
        failed: 1,
        open: 0,
        credits: 20,
        units: 180_000,
        earned: 9_000,
      },
    ],
  });
  expect(await reply.json()).toMatchObject({
    disputes: { gateway_at_fault: 2, worker_at_fault: 0, rejected: 0, expired: 0, open: 1 },
    paid: 90,
    against: [{ job_id: toApiJobId(JOB_ID), opened_by: "wallet" }],
    failed_24h: 1,
    fee_units_24h: 20_000,
    earned_24h: 9_000,
    earned: 7_000,
  });
});

it("charts the jobs of every operator, observations of the service's own alone", async () => {
  const now = Date.now() / 1_000;
  const jobs = { model: 1, worker: null, jobs: 9, settled: 5, failed: 3, refunded: 1, open: 1, credits: 50, units: 0 };
  const today = Math.floor(now / 86_400) * 86_400;
  const rows = {
    index_operators: [operator, { ...operator, number: 2 }],
    index_network_day: [1, 2, 2].map((number) => ({ ...jobs, operator: number, start: Math.floor(now / 600) * 600 })),
    index_jobs_by_span: [today, today - 2 * 86_400].map((start) => ({ ...jobs, operator: 2, start, over: false })),
    "observed-service": [{ ...SUMS, start: Math.floor(now / 3_600) * 3_600 }],
  };
  const chart = async (path: string) => {
    const { reply, asked } = await ask(`operators/${path}`, rows);
    return { spans: ((await reply.json()) as { spans: object[] }).spans, asked };
  };
  const own = await chart("1/observed");
  expect(own.spans).toHaveLength(24);
  expect(own.spans.at(-1)).toMatchObject({ charged: 5, failed: 2, refunded: 1, credits: 50, observed: SEEN });
  const other = await chart("2/observed");
  expect(other.spans.at(-1)).toMatchObject({ charged: 10, failed: 4, refunded: 2, credits: 100, observed: null });
  expect(other.asked).not.toContain("observed-service");
  const month = await chart("2/observed?range=30d");
  expect(month.spans).toHaveLength(30);
  expect(month.spans.slice(-3)).toMatchObject([{ charged: 5 }, { charged: 0 }, { charged: 5, credits: 50 }]);
});

it("reads an operator's page once for all who look at it in a second", async () => {
  const asked: string[] = [];
  const url = await serveWebApi((statement) => {
    asked.push(statement);
    return statement === "index_operators" ? [operator] : [];
  });
  const pages = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/operators/1`)));
  expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([200]));
  for (const statement of ["index_disputes_lost_by", "index_jobs_of_operator"])
    expect(asked.filter((one) => one === statement).length).toBeLessThanOrEqual(2);
});
