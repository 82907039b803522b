import { beforeAll, describe, expect, it } from "vitest";
import { chat, eventually } from "../../support/api-client.ts";
import { untilIndexed } from "../../support/indexed.ts";
import { LARGE_MODEL, MODEL, type World } from "./world.ts";

type Job = { id: string; model: string; status: string };

/** Every combination of the filters and cursors of `GET /v1/jobs`. */
export function lists(world: World): void {
  describe("GET /v1/jobs with any combination of filters", () => {
    let jobs: Job[];

    beforeAll(async () => {
      for (const model of [MODEL, MODEL, LARGE_MODEL, MODEL, LARGE_MODEL, LARGE_MODEL, MODEL, MODEL]) {
        await world.api.post("/v1/chat/completions", chat(model, "Hello [[tokens:5]]"));
      }
      await eventually(
        () => world.api.get("/v1/jobs?limit=100"),
        (reply) => reply.body.data.every((job: Job) => job.status === "settled"),
      );
      await untilIndexed(world.stack);
      jobs = (await world.api.get("/v1/jobs?limit=100")).body.data;
      expect(jobs.length).toBeGreaterThanOrEqual(8);
    });

    const choices = {
      limit: [undefined, "2", "100"],
      model: [undefined, MODEL, LARGE_MODEL],
      status: [undefined, "settled", "failed"],
      before: [undefined, 2],
      after: [undefined, 6],
    } as const;

    it("gives the jobs that all of them admit, newest first, and says whether there are more", async () => {
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
                const { body } = await world.api.get(`/v1/jobs?${query}`);
                const shown = admitted.slice(0, Number(limit ?? 20));
                expect(body.data.map(idOf), query).toEqual(shown.map(idOf));
                expect(body.has_more, query).toBe(admitted.length > shown.length);
                expect(body.next_cursor, query).toBe(body.has_more ? shown.at(-1)?.id : null);
              }
    });

    it("walked page by page shows each job once", async () => {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: { data: Job[]; next_cursor: string | null } = (
          await world.api.get(`/v1/jobs?limit=3&model=${MODEL}${cursor === null ? "" : `&before=${cursor}`}`)
        ).body;
        seen.push(...page.data.map(idOf));
        cursor = page.next_cursor;
      } while (cursor !== null);
      expect(seen).toEqual(jobs.filter((job) => job.model === MODEL).map(idOf));
    });
  });
}

const idOf = (job: Job) => job.id;
