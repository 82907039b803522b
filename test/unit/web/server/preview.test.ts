/** Link previews: their tags, what a job's picture says, and how many pictures are drawn. */
import express from "express";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { errorHandler } from "../../../../api/routes/errors.ts";
import { chargeOf, previewRoutes, previewTags } from "../../../../web/server/preview.ts";
import { serve } from "../../support/serve.ts";

const CONFIG = {
  APP_URL: "https://service.example.com/app",
  CHAIN_NAME: "Example chain",
  BURST_PER_SECOND: 300,
  deployment: { chainId: 1 },
} as never;

const ROW = {
  status: "settled",
  model: "qwen3-8b",
  tier: "standard",
  creditsCharged: 1_208,
  creditsCompensated: 0,
  billedTokens: 151_000,
  createdAt: 1_795_852_800,
};
const charge = (changes: object) => chargeOf({ ...ROW, ...changes } as never);
const jobId = (number: number) => `job_0198c0de5f7a7c3e9b1d${number.toString(16).padStart(12, "0")}`;

describe("a job's picture", () => {
  it("says what it cost, in credits and USDG, and when its credits were locked", () => {
    expect(charge({})).toEqual({
      status: "settled",
      headline: "1,208 credits charged",
      facts: ["12.08 USDG", "qwen3-8b, standard tier", "151,000 tokens"],
      lockedAt: "2026-11-28 08:00 UTC",
    });
  });

  it.each([
    [{ creditsCharged: 1 }, "1 credit charged"],
    [{ creditsCharged: 40, creditsCompensated: 39 }, "1 credit charged"],
    [{ creditsCharged: 40, creditsCompensated: 40, status: "refunded" }, "Nothing was charged"],
    [{ creditsCharged: 0, billedTokens: null, status: "failed" }, "Nothing was charged"],
    [{ creditsCharged: 40, status: "disputed" }, "40 credits charged"],
    [{ creditsCharged: 0, billedTokens: null, status: "pending" }, "Not charged yet"],
    [{ creditsCharged: 0, billedTokens: null, status: "settling" }, "Not charged yet"],
  ])("of %o says %s", (changes, headline) => {
    expect(charge(changes).headline).toBe(headline);
  });
});

/** The routes behind a proxy that names each request's address. `row`: what the index has of every job. */
async function servePreviews(row: object | null = ROW, more: object = {}) {
  let reads = 0;
  const reader = {
    query: async () => {
      reads += 1;
      return { rows: row === null ? [] : [row] };
    },
  };
  const app = express()
    .set("trust proxy", true)
    .use(previewRoutes({ reader: reader as never, config: CONFIG, ...more }))
    .use(errorHandler("https://docs.example.com", pino({ level: "silent" })));
  const url = await serve(app);
  const get = (path: string, address = "192.0.2.1") =>
    fetch(`${url}${path}`, { headers: { "x-forwarded-for": address } });
  return { get, reads: () => reads };
}

describe("the pictures", () => {
  it.each(["/front.png", `/jobs/${jobId(1)}.png`])(
    "%s is a PNG of 1200 to 630 pixels that others may show",
    async (path) => {
      const { get } = await servePreviews();
      const response = await get(path);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "content-type": "image/png",
        "cache-control": "public, max-age=60",
        "cross-origin-resource-policy": "cross-origin",
      });
      const png = Buffer.from(await response.arrayBuffer());
      expect(png.subarray(1, 4).toString()).toBe("PNG");
      expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1200, 630]);
      expect(png.length).toBeLessThan(100_000);
    },
  );

  it("of a job that the index does not know is 404, and of no job id costs no read", async () => {
    const { get, reads } = await servePreviews(null);
    expect((await get(`/jobs/${jobId(1)}.png`)).status).toBe(404);
    expect(reads()).toBe(1);
    expect((await get("/jobs/job_x.png")).status).toBe(404);
    expect(reads()).toBe(1);
  });

  it("are five a second for one address", async () => {
    const { get } = await servePreviews();
    const all = await Promise.all(Array.from({ length: 12 }, () => get("/front.png")));
    const refused = all.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(all.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(5);
    expect((await get("/front.png", "192.0.2.2")).status).toBe(200);
  });

  it("are followed by a rest of three times their own time, whoever asks", async () => {
    const begun: number[] = [];
    const render = async () => {
      begun.push(performance.now());
      await new Promise((resolve) => setTimeout(resolve, 30));
      return Buffer.alloc(1);
    };
    const { get } = await servePreviews(ROW, { render });
    await Promise.all([1, 2, 3].map((n) => get(`/jobs/${jobId(n)}.png`, `192.0.2.${n}`)));
    const [first = 0, second = 0, third = 0] = begun;
    expect(Math.min(second - first, third - second)).toBeGreaterThan(4 * 30 - 10);
  });

  it("are drawn in turns: an address waits for one picture of each other address", async () => {
    const drawn: number[] = [];
    const all = Promise.withResolvers<void>();
    const render = async (picture: object) => {
      drawn.push([1, 2, 3, 4, 5].find((n) => JSON.stringify(picture).includes(jobId(n))) ?? 0);
      await all.promise;
      return Buffer.alloc(1);
    };
    const { get, reads } = await servePreviews(ROW, { render });
    const pictures = [];
    for (const n of [1, 2, 3, 4, 5]) {
      pictures.push(get(`/jobs/${jobId(n)}.png`, n === 5 ? "192.0.2.2" : "192.0.2.1"));
      await expect.poll(reads).toBe(n);
    }
    // After its read a request is in the queue at once.
    await new Promise((resolve) => setTimeout(resolve));
    all.resolve();
    await Promise.all(pictures);
    expect(drawn).toEqual([1, 2, 5, 3, 4]);
  });

  it("fail without harm where the library cannot be loaded", async () => {
    let tries = 0;
    const render = () => {
      tries += 1;
      throw new Error("no such library");
    };
    const { get } = await servePreviews(ROW, { render });
    for (const n of [1, 2]) expect((await get(`/jobs/${jobId(n)}.png`)).status).toBe(500);
    expect(tries).toBe(2);
  });

  it("of the front is drawn once", async () => {
    let drawn = 0;
    const render = async () => {
      drawn += 1;
      if (drawn === 1) throw new Error("no memory");
      return Buffer.alloc(1);
    };
    const { get } = await servePreviews(ROW, { render });
    expect((await get("/front.png")).status).toBe(500);
    for (const n of [1, 2, 3]) expect((await get("/front.png", `192.0.2.${n}`)).status).toBe(200);
    expect(drawn).toBe(2);
  });

  it("are drawn for twenty at once, whoever asks; the others are refused", async () => {
    const { get } = await servePreviews();
    const all = await Promise.all(Array.from({ length: 60 }, (_, n) => get(`/jobs/${jobId(n)}.png`, `192.0.2.${n}`)));
    const answers = Map.groupBy(all, ({ status }) => status);
    expect([...answers.keys()].toSorted()).toEqual([200, 429]);
    expect(answers.get(200)?.length).toBeGreaterThanOrEqual(20);
    expect((await get(`/jobs/${jobId(99)}.png`, "192.0.2.99")).status).toBe(200);
  });
});

describe("the tags of a page", () => {
  const tags = previewTags(CONFIG);

  it("name a job's picture, and the page", () => {
    const id = jobId(1);
    expect(tags(`/app/jobs/${id}`)).toContain(
      `<meta property="og:image" content="https://service.example.com/app/api/previews/jobs/${id}.png">`,
    );
    expect(tags(`/app/jobs/${id}`)).toContain(
      `<meta property="og:url" content="https://service.example.com/app/jobs/${id}">`,
    );
  });

  it.each(["/", "/app", "/app/jobs", `/app/jobs/${jobId(1)}x`, `/app/jobs/"><script>`, "/app/models/qwen"])(
    "of %s are the service's",
    (path) => {
      expect(tags(path)).toContain("/app/api/previews/front.png");
      expect(tags(path)).not.toContain("<script>");
    },
  );
});
