/** The export of a wallet's jobs reads all of them: one runs at a time. */
import express from "express";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { jobObject } from "../../../../api/jobs/job-reader.ts";
import { errorHandler } from "../../../../api/routes/errors.ts";
import { toApiJobId } from "../../../../protocol/job-id.ts";
import { webAccountRoutes } from "../../../../web/server/account.ts";
import { ESCROW } from "../../../support/fake-gateway.ts";
import { indexedJob } from "../../support/jobs.ts";
import { serve } from "../../support/serve.ts";

/** The routes over jobs of which each page waits for `nextPage`; the wallet is what a header says. */
async function openExports() {
  const pages: ((cursor: string | null, data?: object[]) => void)[] = [];
  const list = () =>
    new Promise((resolve) => {
      pages.push((cursor, data = []) => resolve({ data, cursor }));
    });
  const session: express.RequestHandler = (request, _response, next) => {
    request.client = { wallet: request.get("wallet") } as never;
    next();
  };
  const app = express()
    .use(webAccountRoutes({ jobReader: { list } } as never, session))
    .use(errorHandler("https://docs.example.com", pino({ level: "silent" })));
  const url = `${await serve(app)}/jobs.csv`;
  const get = (wallet: string) => fetch(url, { headers: { wallet } });
  /** Answers the oldest page that somebody waits for. */
  const nextPage = async (cursor: string | null, data?: object[]) => {
    while (pages.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    pages.shift()?.(cursor, data);
  };
  return { get, nextPage, pages, waiting: () => pages.length };
}

it("has a line for each job, with the seconds to its answer at the end", async () => {
  const { get, nextPage } = await openExports();
  const reply = get("0xa");
  const answered = indexedJob({ createdAt: 100, answeredAt: 103, model: 'llama,"large"' });
  const found = [answered, indexedJob({ status: "failed" })].map((row) => ({ row, stored: null }));
  await nextPage(
    null,
    found.map((rows) => ({ ...rows, job: jobObject(rows, ESCROW) })),
  );
  const [head, first, second, ...rest] = (await (await reply).text()).split("\r\n");
  expect(head).toMatch(/^job_id,.*,answer_seconds$/);
  expect(first).toMatch(new RegExp(`^${toApiJobId(answered.id)},.*,"llama,""large""",.*,3$`));
  expect(second).toMatch(/^job_[0-9a-f]{32},.*,failed,.*,$/);
  expect(rest).toEqual([""]);
});

it("refuses a second export of a wallet while one runs", async () => {
  const { get, nextPage, waiting } = await openExports();
  const first = get("0xa");
  await expect.poll(waiting).toBe(1);
  const second = await get("0xa");
  expect(second.status).toBe(409);
  expect(await second.json()).toMatchObject({ error: { message: expect.stringMatching(/wait for its end/) } });
  const other = get("0xb");
  await nextPage(null);
  await nextPage(null);
  expect((await (await first).text()).split("\r\n")).toHaveLength(2);
  expect((await other).status).toBe(200);
  const again = get("0xa");
  await nextPage(null);
  expect((await again).status).toBe(200);
});

it("an export that its client broke off ends, however many jobs are left", async () => {
  const { get, nextPage, pages } = await openExports();
  const broken = get("0xa");
  await nextPage("0x01");
  expect((await get("0xa")).status).toBe(409);
  await (await broken).body?.cancel();
  // There is always another page, until the end of the test.
  let cursor: string | null = "0x02";
  const giving = setInterval(() => {
    for (const give of pages.splice(0)) give(cursor);
  }, 20);
  onTestFinished(() => clearInterval(giving));
  await expect.poll(async () => (await get("0xa")).status, { timeout: 20_000 }).toBe(200);
  cursor = null;
  await expect.poll(async () => (await get("0xa")).status).toBe(200);
});

it("pages of all exports are read one at a time", async () => {
  const { get, nextPage, waiting } = await openExports();
  const all = Array.from({ length: 12 }, (_, n) => get(`0x${n}`));
  await expect.poll(waiting).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(waiting()).toBe(1);
  for (const _ of all) await nextPage(null);
  expect((await Promise.all(all)).map(({ status }) => status)).toEqual(Array(12).fill(200));
});
