/** Workers that cheat or break, seen from the gateway's side: named, refused, the client unharmed, the incident on record. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type IncidentCode, listWorkerIncidents } from "../../api/db/incidents.ts";
import type { CompletedEvent } from "../../api/jobs/worker-client.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { type ApiClient, apiClient, chat, eventually } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { openStore } from "../support/client.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { event, PlayedWorker, type Script } from "./support/played-worker.ts";

const HONEST = "qwen3-8b";
/** Hosted by the evil worker alone. */
const EVIL = "qwen3-14b";
/** Hosted by an honest worker as well. */
const SHARED = "gemma-3-27b-it";
const TEXT = "Every word of this is delivered as it stands.";

let stack: TestStack;
let api: ApiClient;
let chain: ChainReader;
let database: ReturnType<typeof openStore>;
/** The worker that the tests play. */
let evil: PlayedWorker;

beforeAll(async () => {
  stack = await startTestStack({
    workers: [{ models: [HONEST, SHARED] }, { models: [EVIL, SHARED], start: false }],
    windows: { completion: 20, inclusion: 40 },
    // Short rests, so that one played worker can show all its tricks; times that also a busy machine keeps.
    env: { api: { ACKNOWLEDGE_SECONDS: "5", FIRST_TOKEN_SECONDS: "6", MISCONDUCT_REST_SECONDS: "0.0001" } },
  });
  api = apiClient(stack);
  chain = chainReader(stack);
  evil = await PlayedWorker.start(stack, 2);
  database = openStore(stack);
});
afterAll(async () => {
  await evil?.stop();
  await database?.end();
  await stack?.remove();
});

const ask = (model: string, more: Record<string, unknown> = {}) =>
  api.post("/v1/chat/completions", chat(model, "Hello", more));
type Reply = Awaited<ReturnType<typeof ask>>;

type Completing = (...offer: Parameters<PlayedWorker["completion"]>) => Promise<unknown>;

/** Acknowledges, sends the text in one piece, ends with what `completed` makes of it. */
const answering =
  (completed: Completing, text = TEXT): Script =>
  async (offer, response) => {
    response.write(await evil.acknowledgement(offer));
    response.write(event("delta", { content: text }));
    response.end(event("completed", await completed(offer, text)));
  };

/** Answers with nothing. */
const silent: Script = async (offer, response) => {
  response.write(await evil.acknowledgement(offer));
  response.end(event("completed", await evil.completion(offer, "", { completionTokens: 0 })));
};

/** How often the gateway has counted this incident of the evil worker. */
async function counted(code: IncidentCode): Promise<number> {
  const text = await (await fetch(`${stack.info.base_url}/metrics`)).text();
  const line = new RegExp(`^gateway_worker_failures_total\\{worker="${evil.address}",code="${code}"\\} (\\d+)$`, "m");
  return Number(line.exec(text)?.[1] ?? 0);
}

/** Runs `attack`; afterwards this incident was counted, and is on the worker's page with its job. */
async function incident(code: IncidentCode, attack: () => Promise<string | null>): Promise<void> {
  await evil.isOffered(EVIL);
  const before = await counted(code);
  const jobId = await attack();
  await eventually(
    () => counted(code),
    (count) => count > before,
  );
  await eventually(shown, (list) => list.some((one) => one.code === code && one.job_id === jobId));
}

/** A request that the evil worker spoils: a retryable error, nothing charged. Returns its job. */
async function spoiled(status = 503): Promise<string | null> {
  // What an earlier request locked must have come to its end.
  const before = await eventually(account, ({ escrowed }) => escrowed === 0);
  const reply = await ask(EVIL);
  expect(reply.status).toBe(status);
  await eventually(account, ({ free, escrowed }) => free === before.free && escrowed === before.escrowed);
  const jobId = reply.headers.get("x-service-job-id");
  expect((await api.get(`/v1/jobs/${jobId}`)).body).toMatchObject({ credits_charged: 0 });
  return jobId;
}

const account = () => chain.account(stack.info.demo?.wallet as string);

/** What the application shows of the evil worker to everybody. */
async function shown(): Promise<{ code: string; severity: string; job_id: string | null }[]> {
  const page = await fetch(`${stack.info.base_url}/app/api/workers`);
  // biome-ignore lint/suspicious/noExplicitAny: the page's own data, whose shape its types hold
  const { data } = (await page.json()) as any;
  return data.find(({ address }: { address: string }) => address === evil.address)?.incidents ?? [];
}

describe("a completion is refused, and its worker named, when it", () => {
  let old: CompletedEvent;

  it("is an old one, replayed", async () => {
    await evil.isOffered(EVIL);
    evil.play(answering(async (offer, text) => (old = await evil.completion(offer, text))));
    expect((await ask(EVIL)).status).toBe(200);
    await incident("wrong_job", async () => {
      evil.play(answering(async () => old));
      return spoiled();
    });
  });

  it.each<[string, IncidentCode, Completing]>([
    [
      "is an old one with the new job's id",
      "wrong_signature",
      async ({ assignment }) => ({ ...old, completion: { ...old.completion, jobId: assignment.jobId } }),
    ],
    [
      "has another hash than what was streamed",
      "hash_mismatch",
      (offer) => evil.completion(offer, "Something else entirely."),
    ],
    [
      "is of an answer that ends at its length before any limit is reached",
      "cut_short",
      async (offer, text) => ({ ...(await evil.completion(offer, text)), finish_reason: "length" }),
    ],
    [
      "is dated outside the job's time",
      "wrong_time",
      (offer, text) => evil.completion(offer, text, { completedAt: 1_600_000_000 }),
    ],
  ])("%s", async (_, code, completed) => {
    await incident(code, async () => {
      evil.play(answering(completed));
      return spoiled();
    });
  });
});

/** The job of an answer, once it is settled, and what it cost. */
async function charged(reply: Reply) {
  expect(reply.status).toBe(200);
  const jobId = reply.headers.get("x-service-job-id") as string;
  const job = await eventually(
    () => api.get(`/v1/jobs/${jobId}`),
    ({ body }) => body.status === "settled",
    60_000,
  );
  return { jobId, credits: job.body.credits_charged, tokens: reply.body.usage.completion_tokens };
}

it("a worker that answers its jobs with nothing is asked a question of the gateway's own, and rests if that is in vain", async () => {
  await incident("empty_trial", async () => {
    evil.trial = "";
    evil.play(silent);
    expect((await ask(EVIL)).status).toBe(200);
    return null;
  });
  evil.trial = "One, two, three.";
});

describe("what a client can bring about counts against no worker:", () => {
  /** What is counted against the evil worker; refusals are noted and let it be. */
  const noted = async () =>
    (await (await fetch(`${stack.info.base_url}/metrics`)).text())
      .split("\n")
      .filter((line) => line.includes("worker_failures") && line.includes(evil.address))
      .filter((line) => !line.includes("request_refused"));

  it("an answer without text is one, at the flat price", async () => {
    await evil.isOffered(EVIL);
    const before = await noted();
    evil.play(silent);
    for (let i = 0; i < 3; i++) {
      const reply = await ask(EVIL);
      expect(reply.body.choices[0]).toMatchObject({ message: { content: "" }, finish_reason: "stop" });
      expect(await charged(reply)).toMatchObject({ credits: 18, tokens: 0 });
    }
    expect(await noted()).toEqual(before);
    // The gateway asked once by itself: that was enough.
    expect(evil.trials).toBe(2);
  });

  it.each(["request_refused", "content_filter"])("%s", async (what) => {
    await evil.isOffered(EVIL);
    const before = await noted();
    evil.play(
      what === "request_refused"
        ? (_offer, response) => {
            response.writeHead(400, { "content-type": "application/json" });
            response.end(JSON.stringify({ error: { code: what, message: "the model server does not take this" } }));
          }
        : answering(async (offer, text) => ({ ...(await evil.completion(offer, text)), finish_reason: what })),
      { raw: what === "request_refused" },
    );
    for (let i = 0; i < 3; i++) {
      const reply = await ask(EVIL);
      expect(reply.status).toBe(what === "request_refused" ? 400 : 200);
    }
    // It stays on offer: it never rested.
    expect(await noted()).toEqual(before);
    expect((await api.get("/v1/models")).body.data.map(({ id }: { id: string }) => id)).toContain(EVIL);
  });
});

describe("tokens that are over-reported are not charged when they", () => {
  it("are more than the bytes that were sent", async () => {
    await incident("tokens_over_reported", async () => {
      evil.play(answering((offer, text) => evil.completion(offer, text, { completionTokens: 1_000_000 })));
      const { jobId, ...bill } = await charged(await ask(EVIL, { max_tokens: 4_000 }));
      expect(bill).toEqual({ credits: 18, tokens: TEXT.length });
      return jobId;
    });
  });

  it("are more than any tokenizer makes of the text", async () => {
    await incident("tokens_implausible", async () => {
      const text = "plausible ".repeat(1_000).trim();
      evil.play(answering((offer) => evil.completion(offer, text, { completionTokens: 9_000 }), text));
      const { jobId, ...bill } = await charged(await ask(EVIL, { max_tokens: 9_500 }));
      // At 9 credits a thousand, 9,000 tokens would be 81.
      expect(bill.tokens).toBeLessThan(6_000);
      expect(bill.credits).toBe(Math.max(18, Math.ceil((bill.tokens * 9) / 1_000)));
      return jobId;
    });
  });
});

describe("a stream is cut, and its worker named, when it", () => {
  /** Sends `piece` for as long as it is taken, at most a gigabyte; tells how much that was. */
  const endless = (piece: string) => {
    const sent = { bytes: 0 };
    const script: Script = async (offer, response) => {
      response.write(await evil.acknowledgement(offer));
      const more = (): void => {
        while (!response.destroyed && sent.bytes < 2 ** 30) {
          sent.bytes += piece.length;
          if (!response.write(piece)) return void response.once("drain", more);
        }
        response.end();
      };
      more();
    };
    return { sent, script };
  };

  it("is a gigabyte of deltas", async () => {
    const { sent, script } = endless(event("delta", { content: "Another word. ".repeat(1_000) }));
    await incident("oversized", async () => {
      evil.play(script);
      const jobId = await spoiled();
      expect(sent.bytes).toBeLessThan(2 ** 28);
      return jobId;
    });
  });

  it("never finishes", async () => {
    await incident("never_finished", async () => {
      evil.play(async (offer, response) => {
        response.write(await evil.acknowledgement(offer));
        response.write(event("delta", { content: "Once upon a time" }));
        const timer = setInterval(() => response.write(event("delta", { content: " and then" })), 300);
        response.on("close", () => clearInterval(timer));
      });
      return spoiled(504);
    });
  });

  it("comes a byte at a time", async () => {
    await incident("silent", async () => {
      evil.play(async (offer, response) => {
        const bytes = await evil.acknowledgement(offer);
        let at = 0;
        const timer = setInterval(() => response.write(bytes[at++ % bytes.length]), 100);
        response.on("close", () => clearInterval(timer));
      });
      return spoiled();
    });
  });

  it("holds what is not JSON", async () => {
    await incident("malformed", async () => {
      evil.play(async (offer, response) => {
        response.write(await evil.acknowledgement(offer));
        response.end(`${event("delta", { content: TEXT })}event: delta\ndata: {content\n\n`);
      });
      return spoiled();
    });
  });

  it("gives a reason that no gateway knows: it does not become a label of its own", async () => {
    await incident("other", async () => {
      evil.play((_offer, response) => void response.end(event("error", { code: `x${Date.now()}`, message: "a\nb" })));
      return spoiled();
    });
    const shown = await listWorkerIncidents(database, [evil.address], 50);
    expect(shown).toContainEqual(expect.objectContaining({ code: "other", detail: "a b", severity: "failure" }));
    expect(shown.map(({ code }) => code)).not.toContainEqual(expect.stringMatching(/^x\d/));
  });
});

describe("a worker among others", { timeout: 240_000 }, () => {
  /** A worker with failures behind it is asked only when the others have several times its load. */
  const MANY = 48;
  const ROUNDS = 6;

  /** Sends so many requests at once, and again until the evil worker was asked: which worker is, is chance. All replies. */
  const untilAsked = async () => {
    const replies: Reply[] = [];
    for (let round = 0; round < ROUNDS && evil.offers.length === 0; round++) {
      await evil.isOffered(SHARED, 2);
      replies.push(...(await Promise.all(Array.from({ length: MANY }, () => ask(SHARED)))));
    }
    expect(evil.offers.length).toBeGreaterThan(0);
    return replies;
  };
  const statuses = (replies: { status: number }[]) => [...new Set(replies.map(({ status }) => status))];

  it("that says it is full keeps its place, and the others answer", async () => {
    await evil.isOffered(SHARED, 2);
    const before = await counted("busy");
    evil.play(
      (_offer, response) => {
        response.writeHead(503, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: { code: "busy", message: "try elsewhere" } }));
      },
      { raw: true },
    );
    expect(statuses(await untilAsked())).toEqual([200]);
    expect(await counted("busy")).toBeGreaterThan(before);
    // Nothing went wrong: it is still listed.
    await evil.isOffered(SHARED, 2);
  });

  it.each<[string, Script]>([
    [
      "says nothing holds a request no longer than its offer",
      (_offer, response) => {
        const timer = setInterval(() => response.write(": still here\n\n"), 200);
        response.on("close", () => clearInterval(timer));
      },
    ],
    [
      "acknowledges and then says nothing is replaced as well",
      async (offer, response) => void response.write(await evil.acknowledgement(offer)),
    ],
  ])("that %s: the next worker answers", async (_, script) => {
    evil.play(script);
    const replies = await untilAsked();
    expect(statuses(replies)).toEqual([200]);
    expect(new Set(replies.map(({ headers }) => headers.get("x-service-worker")))).not.toContain(evil.address);
  });

  it("whose acknowledgement is not its own is named, and its answer counts", async () => {
    await incident("bad_acknowledgement", async () => {
      const before = await counted("bad_acknowledgement");
      evil.play(async (offer, response) => {
        response.write(event("acknowledged", { signature: `0x${"11".repeat(65)}` }));
        response.write(event("delta", { content: TEXT }));
        // A job that is over needs no acknowledgement any more: the gateway looks at it while the job runs.
        await eventually(
          () => counted("bad_acknowledgement"),
          (count) => count > before,
          15_000,
        );
        response.end(event("completed", await evil.completion(offer, TEXT)));
      });
      const reply = await ask(EVIL);
      expect(reply.status).toBe(200);
      return toApiJobId((evil.offers[0] as PlayedWorker["offers"][number]).assignment.jobId);
    });
  });
});
