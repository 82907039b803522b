/** The list of a wallet's jobs, with every combination of filters and cursors. */
import { beforeAll, describe, expect, it } from "vitest";
import { chat, eventually } from "../support/api-client.ts";
import { untilIndexed } from "../support/indexed.ts";
import { LARGE_MODEL, MODEL } from "../support/service-stack.ts";
import { openService } from "./support/service.ts";

const { stack, client } = await openService();

type Job = { id: string; model: string; status: string };

describe("GET /v1/jobs with any combination of filters", () => {
  let jobs: Job[];

  beforeAll(async () => {
    for (const model of [MODEL, MODEL, LARGE_MODEL, MODEL, LARGE_MODEL, LARGE_MODEL, MODEL, MODEL]) {
      await client.api.post("/v1/chat/completions", chat(model, "Hello [[tokens:5]]"));
    }
    await eventually(
      () => client.api.get("/v1/jobs?limit=100"),
      (reply) => reply.body.data.every((job: Job) => job.status === "settled"),
    );
    await untilIndexed(stack);
    jobs = (await client.api.get("/v1/jobs?limit=100")).body.data;
    expect(jobs.length).toBeGreaterThanOrEqual(8);
  });

  const choices = {
    limit: [undefined, "2", "100"],
    model: [undefined, MODEL, LARGE_MODEL],
    status: [undefined, "settled", "failed"],
    before: [undefined, 2],
    after: [undefined, 6],
  } as const;

  it("gives the jobs that pass all of them, newest first, and whether more follow", async () => {
    for (const limit of choices.limit)
      for (const model of choices.model)
        for (const status of choices.status)
          for (const before of choices.before)
            for (const after of choices.after) {
              const cursors = {
                before: before === undefined ? undefined : (jobs[before] as Job).id,
                after: after === undefined ? undefined : (jobs[after] as Job).id,
              };
              const given = Object.entries({ limit, model, status, ...cursors }).filter(([, value]) => value);
              const query = new URLSearchParams(given as [string, string][]).toString();
              const admitted = jobs
                .slice(before === undefined ? 0 : before + 1, after)
                .filter((job) => (!model || job.model === model) && (!status || job.status === status));
              const { body } = await client.api.get(`/v1/jobs?${query}`);
              const size = Number(limit ?? 20);
              // A lone `after` has the oldest above it, and its cursor goes on upwards.
              const up = before === undefined && after !== undefined;
              const shown = up ? admitted.slice(-size) : admitted.slice(0, size);
              expect(body.data.map(idOf), query).toEqual(shown.map(idOf));
              expect(body.has_more, query).toBe(admitted.length > shown.length);
              expect(body.next_cursor, query).toBe(body.has_more ? shown.at(up ? 0 : -1)?.id : null);
            }
  });

  it("pages hold still while new jobs arrive", async () => {
    for (let i = 0; i < 4; i++) await client.api.post("/v1/chat/completions", chat(MODEL, `Hello ${i}`));
    await eventually(
      () => client.api.get("/v1/jobs"),
      ({ body }) => body.data.every((job: { status: string }) => job.status === "settled"),
    );
    await untilIndexed(stack);
    const first = (await client.api.get("/v1/jobs?limit=3")).body;
    expect(first.has_more).toBe(true);
    expect(first.next_cursor).toBe(first.data[2].id);
    const second = (await client.api.get(`/v1/jobs?limit=3&before=${first.next_cursor}`)).body;
    await client.api.post("/v1/chat/completions", chat(MODEL, "One more"));
    expect((await client.api.get(`/v1/jobs?limit=3&before=${first.next_cursor}`)).body.data.map(idOf)).toEqual(
      second.data.map(idOf),
    );
    const newer = (await client.api.get(`/v1/jobs?after=${first.data[0].id}`)).body.data;
    expect(newer).toHaveLength(1);
  });
});

const idOf = (job: Job) => job.id;
