/** Section `lists`. */
import pg from "pg";
import { Agent, request } from "undici";
import { load } from "./load.ts";
import { p50, p99, progress, type Section } from "./report.ts";
import { MODEL, type System } from "./system.ts";
import { indexCaughtUp } from "./throughput.ts";

const REQUESTS = 500;
/** One wallet has this share of all jobs: the largest customer. */
const LARGEST = 10;
const CHUNK = 100_000;
/** Jobs that the client has at the gateway itself. */
const OWN_JOBS = 400;

/** What differs from copy to copy; their ids are below every real one. */
const VARYING: Record<string, string> = {
  id: "'0x' || lpad(to_hex(n), 32, '0')",
  wallet: `CASE WHEN n % ${LARGEST} = 0 THEN template.wallet ELSE '0x' || lpad(to_hex(n % 997), 40, '0') END`,
  status: "CASE WHEN n % 50 = 0 THEN 'refunded' ELSE 'settled' END",
};

type Times = { p50: number; p99: number };

/** Clients of the load: at 0.25 s blocks they settle about 50 jobs a second. */
const LOAD_CLIENTS = 13;

/** Latency of `GET /v1/jobs` with a full index, alone and while jobs settle: rows are copies of a real job, with lower ids. */
export async function lists(system: System, jobs: number): Promise<Section> {
  const measure = async (query: string): Promise<Times> => {
    const times: number[] = [];
    for (let n = 0; n < REQUESTS; n++) {
      const startedAt = performance.now();
      await page(system, query);
      times.push(performance.now() - startedAt);
    }
    return { p50: p50(times), p99: p99(times) };
  };
  await load(system.target, { concurrency: 1, stream: false, requests: 3 });
  const few = await measure("limit=20");
  // A customer of today: the gateway has rows of its own that the index has as well.
  await load(system.target, { concurrency: 8, stream: false, requests: OWN_JOBS });
  await indexCaughtUp(system.stack);
  progress(`filling the index with ${jobs} jobs`);
  await fill(system, jobs);
  const { next_cursor: cursor } = await page(system, "limit=100");
  const queries: [string, string][] = [
    ["first page", "limit=20"],
    ["first page of 100", "limit=100"],
    ["older page", `limit=20&before=${cursor}`],
    ["newer page", `limit=20&after=${cursor}`],
    ["by status", "limit=20&status=refunded"],
    ["by status and model", `limit=20&status=settled&model=${MODEL}`],
    ["by a status nothing has", "limit=20&status=disputed"],
  ];
  const measureAll = async (): Promise<Times[]> => {
    const times: Times[] = [];
    for (const [, query] of queries) times.push(await measure(query));
    return times;
  };
  const alone = await measureAll();
  progress(`the same while ${LOAD_CLIENTS} clients send jobs`);
  let isMeasuring = true;
  const startedAt = performance.now();
  const loading = load(system.target, { concurrency: LOAD_CLIENTS, stream: true, wanted: () => isMeasuring });
  const loaded = await measureAll().finally(() => {
    isMeasuring = false;
  });
  const answered = (await loading).filter(({ status }) => status === 200).length;
  const rate = (answered * 1_000) / (performance.now() - startedAt);
  const row = (query: string, alone?: Times, beside?: Times) => ({
    query,
    "alone p50": alone?.p50,
    "alone p99": alone?.p99,
    "beside jobs p50": beside?.p50,
    "beside jobs p99": beside?.p99,
  });
  return {
    title: `GET /v1/jobs with ${jobs} jobs in the index, ms over HTTP, alone and beside ${rate.toFixed(0)} new jobs a second`,
    rows: [
      row("first page, 3 jobs in the index", few),
      ...queries.map(([name], index) => row(name, alone[index], loaded[index])),
    ],
  };
}

const agent = new Agent({ connections: 1 });

async function page(system: System, query: string): Promise<{ data: { id: string }[]; next_cursor: string }> {
  const response = await request(`${system.target.url}/v1/jobs?${query}`, {
    headers: system.target.headers(),
    dispatcher: agent,
  });
  if (response.statusCode !== 200) throw new Error(`GET /v1/jobs?${query}: ${await response.body.text()}`);
  return (await response.body.json()) as { data: { id: string }[]; next_cursor: string };
}

async function fill(system: System, jobs: number): Promise<void> {
  const client = new pg.Client({ connectionString: system.stack.info.database_url as string });
  await client.connect();
  try {
    const { rows: columns } = await client.query<{ schema: string; name: string }>(
      `SELECT table_schema AS schema, column_name AS name
       FROM information_schema.view_table_usage JOIN information_schema.columns USING (table_schema, table_name)
       WHERE view_schema = 'index' AND view_name = 'job' ORDER BY ordinal_position`,
    );
    const table = `"${columns[0]?.schema}".job`;
    // Column by column: a row built from JSON is built anew for each of its columns.
    const values = columns.map(({ name }) => VARYING[name] ?? `template."${name}"`);
    // The index's own triggers keep an undo log for reorganisations, which these rows will never need.
    await client.query("SET session_replication_role = replica");
    for (let from = 1; from <= jobs; from += CHUNK) {
      const to = Math.min(from + CHUNK - 1, jobs);
      await client.query(
        `INSERT INTO ${table} (${columns.map(({ name }) => `"${name}"`).join(", ")})
         SELECT ${values.join(", ")}
         FROM generate_series($1::int, $2::int) n, (SELECT * FROM ${table} ORDER BY id DESC LIMIT 1) AS template`,
        [from, to],
      );
      progress(`${to} jobs`);
    }
    // Rows that came over months would be in order by now, and written.
    await client.query(`VACUUM (ANALYZE) ${table}`);
    await client.query("CHECKPOINT");
  } finally {
    await client.end();
  }
}
