import type { ServerResponse } from "node:http";
import { generatePrivateKey } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { answerHash } from "../../protocol/answer-hash.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { gateway, newWorker, startChain, type TestChain, type TestWorker } from "./support/chain.ts";
import { type Daemon, startDaemon } from "./support/daemon.ts";
import {
  askTrial,
  complete,
  dispatch,
  endJob,
  type Job,
  type JobOptions,
  lockJob,
  prepare,
} from "./support/dispatch.ts";
import { chunk, dropLater, type Peer, type Script, startPeer, stream, usageAndDone } from "./support/peer.ts";
import { until } from "./support/processes.ts";

let chain: TestChain;
let worker: TestWorker;
let daemon: Daemon;
let peer: Peer;

beforeAll(async () => {
  [chain, peer] = await Promise.all([startChain(), startPeer(["qwen3:8b"])]);
  worker = await newWorker(generatePrivateKey(), ["qwen3-8b"]);
  await chain.register([worker]);
  daemon = await startDaemon(chain, worker, {
    WORKER_BACKEND: peer.url,
    WORKER_BACKEND_KEY: "secret-of-the-backend",
    WORKER_MODELS: "qwen3-8b=qwen3:8b",
  });
});

afterAll(async () => {
  await daemon?.end("SIGTERM");
  await peer?.stop();
  await chain?.stop();
});

/** Whether the job's offer has not run out: its gateway can still give the job to another worker in time. */
const isGood = ({ assignment }: Job) => Date.now() / 1000 < assignment.acknowledgeBy;
const run = async (options: JobOptions = {}) => dispatch(worker, await lockJob(chain, worker, options));

describe("an OpenAI-compatible backend", () => {
  it("gets every field and its own model name, and its usage is what is signed", async () => {
    peer.play(
      stream(
        chunk({ role: "assistant", content: "" }),
        chunk({ content: "Yes" }),
        chunk({}, "stop"),
        usageAndDone(21, 2),
      ),
    );
    const request = {
      temperature: 0.5,
      top_p: 0.9,
      stop: ["\nUser:"],
      frequency_penalty: 1,
      presence_penalty: -1,
      top_k: 40,
      min_p: 0.05,
      repetition_penalty: 1.1,
      seed: 7,
      max_tokens: 50,
      response_format: { type: "json_schema", json_schema: { name: "yes", schema: { type: "string" }, strict: true } },
    } satisfies JobOptions["request"];
    const job = await lockJob(chain, worker, { request });
    const streamed = await dispatch(worker, job);
    expect(peer.requests.at(-1)?.body).toEqual({
      ...job.request,
      model: "qwen3:8b",
      stream: true,
      stream_options: { include_usage: true },
      reasoning_effort: "none",
      chat_template_kwargs: { enable_thinking: false, thinking: false },
    });
    expect(peer.requests.at(-1)?.key).toBe("Bearer secret-of-the-backend");
    expect(daemon.output()).not.toContain("secret-of-the-backend");
    expect(streamed.completed?.completion).toMatchObject({
      promptTokens: 21,
      completionTokens: 2,
      proofHash: answerHash("Yes"),
    });
    await complete(chain, streamed);
    expect((await chain.jobOf(job.assignment.jobId)).status).toBe(ChainStatus.Settled);
  });

  it("that writes newlines only has answered with nothing, and was at work", async () => {
    peer.play(
      stream(
        chunk({ content: "\n" }),
        chunk({ content: "\n\n" }),
        chunk({ content: "\n" }, "length"),
        usageAndDone(21, 4),
      ),
    );
    const { names, completed } = await run();
    expect(names).toEqual(["acknowledged", "begun", "completed"]);
    expect(completed).toMatchObject({ finish_reason: "length", completion: { proofHash: answerHash("") } });
  });

  it("many deltas in one packet become one event, counted by their text", async () => {
    const packet = [chunk({ content: "One" }), chunk({ content: " two" }), chunk({}, "stop"), "data: [DONE]\n\n"].join(
      "",
    );
    peer.play(stream(packet));
    const { names, text, completed } = await run();
    expect(names).toEqual(["acknowledged", "delta", "completed"]);
    expect(text).toBe("One two");
    expect(completed?.completion).toMatchObject({ completionTokens: 2, proofHash: answerHash("One two") });
  });

  it("never signs a trailing newline nor sends an empty delta, whatever the pieces", async () => {
    peer.play(
      stream(
        chunk({ content: "\nOne\n" }),
        chunk({ content: "\n" }),
        chunk({ content: "two\r\n" }),
        chunk({ content: "\n" }),
        chunk({}, "stop"),
        usageAndDone(1, 6),
      ),
    );
    const { text, completed } = await run();
    expect(text).toBe("\nOne\n\ntwo");
    expect(completed?.completion.proofHash).toBe(answerHash("\nOne\n\ntwo"));
  });

  it("may cut characters anywhere: in UTF-8, in a packet, in a surrogate pair", async () => {
    const bytes = Buffer.from(chunk({ content: "naïve 東京" }));
    const cut = bytes.indexOf(Buffer.from("東")) + 1;
    const halves = ["\ud83c", "\udf31"].map((half) => chunk({ content: half }));
    peer.play(stream(bytes.subarray(0, cut), bytes.subarray(cut), ...halves, chunk({}, "length"), usageAndDone(1, 5)));
    const { text, completed } = await run();
    expect(text).toBe("naïve 東京🌱");
    expect(completed).toMatchObject({ finish_reason: "length", completion: { proofHash: answerHash("naïve 東京🌱") } });
  });

  it("has its reasoning told apart from the answer, which alone is signed", async () => {
    peer.play(
      stream(
        chunk({ reasoning_content: "Hm" }),
        chunk({ reasoning: "m.\n" }),
        chunk({ content: "42" }),
        chunk({}, "stop"),
        usageAndDone(1, 9),
      ),
    );
    const { text, names, completed } = await run({ request: { reasoning_effort: "high" } });
    expect(peer.requests.at(-1)?.body).toMatchObject({ reasoning_effort: "high" });
    expect(text).toBe("42");
    // Two packets of it can arrive as one.
    expect([...new Set(names)]).toEqual(["acknowledged", "reasoning", "delta", "completed"]);
    expect(completed?.completion).toMatchObject({ completionTokens: 2, proofHash: answerHash("42") });
  });

  it("that only reasons has not answered unasked, and is empty when asked", async () => {
    const script = stream(chunk({ reasoning_content: "Hm" }), chunk({}, "length"), usageAndDone(1, 9));
    peer.play(script);
    expect((await run()).error?.code).toBe("backend_failed");
    peer.play(script);
    expect((await run({ request: { reasoning_effort: "low" } })).completed?.finish_reason).toBe("length");
  });

  it("that is ended while it reasons, unasked, has an empty answer: its client left", async () => {
    peer.play((res) => void res.writeHead(200, {}).write(chunk({ reasoning_content: "Hm" })));
    const job = await lockJob(chain, worker);
    const running = dispatch(worker, job);
    await until("it is ended", async () => (await endJob(chain, worker, job, gateway)) === 204);
    const { completed, error } = await running;
    expect([error, completed?.completion.proofHash]).toEqual([null, answerHash("")]);
  });

  it("passes a trial with its reasoning, which can take all of the few tokens", async () => {
    peer.play(stream(chunk({ reasoning_content: "First, I count." }), chunk({}, "length"), usageAndDone(1, 16)));
    expect((await askTrial(chain, worker, gateway, "qwen3-8b")).body).toEqual({ text: "First, I count." });
  });

  it("that names no usage is counted by its text, within its bounds", async () => {
    peer.play(stream(chunk({ content: "a b" }), chunk({}, "stop"), "data: [DONE]\n\n"));
    expect((await run()).completed?.completion.completionTokens).toBe(2);
    peer.play(stream(chunk({ content: "abc" }), chunk({}, "stop"), usageAndDone(1, 5_000)));
    expect((await run()).completed?.completion.completionTokens).toBe(3);
  });

  it.each([
    ["breaks off without a finish reason", stream(chunk({ content: "half an" }), "data: [DONE]\n\n")],
    [
      "reports an error in the stream",
      stream(chunk({ content: "half" }), 'data: {"error":{"message":"CUDA out of memory"}}\n\n'),
    ],
    ["sends what is not JSON", stream(chunk({ content: "half" }), "data: swordfish\n\n")],
  ])("that %s ends the job with an error and no completion", async (name, script) => {
    peer.play(script);
    const streamed = await run();
    expect([name, streamed.error?.code, streamed.completed]).toEqual([name, "backend_failed", null]);
    expect(streamed.names).toEqual(["acknowledged", "delta", "error"]);
    expect(daemon.output()).not.toContain("swordfish");
  });

  it("that breaks off ends the job with an error and no completion", async () => {
    // What came before the end is delivered only if it was read before the end came: the end waits for that.
    const { script, drop } = dropLater(chunk({ content: "half" }));
    peer.play(script);
    const streamed = await dispatch(worker, await lockJob(chain, worker), { onDelta: drop });
    expect([streamed.error?.code, streamed.completed]).toEqual(["backend_failed", null]);
    expect(streamed.names).toEqual(["acknowledged", "delta", "error"]);
  });

  it("whose answer is empty has one: the hash is that of nothing", async () => {
    peer.play(stream(chunk({ role: "assistant" }), chunk({}, "stop"), usageAndDone(1, 3)));
    const { names, completed } = await run();
    expect(names).toEqual(["acknowledged", "completed"]);
    expect(completed).toMatchObject({
      finish_reason: "stop",
      completion: { proofHash: answerHash(""), completionTokens: 0 },
    });
  });

  it("that stops for its content has answered until there", async () => {
    peer.play(stream(chunk({ content: "half" }), chunk({}, "content_filter"), usageAndDone(1, 1)));
    const { text, completed } = await run();
    expect([text, completed?.finish_reason]).toEqual(["half", "content_filter"]);
  });

  it.each([400, 413, 422])("that refuses a request with %i costs nothing and stays well", async (status) => {
    peer.play((res) => void res.writeHead(status).end("too long"));
    expect(await dispatch(worker, await lockJob(chain, worker))).toMatchObject({
      status: 400,
      refusal: "request_refused",
      names: [],
    });
  });

  it.each([
    ["answers 500", (res) => void res.writeHead(500).end("boom")],
    ["answers something else", (res) => void res.writeHead(200, { "content-type": "text/html" }).end("<html>")],
    ["breaks off at once", stream(chunk({ role: "assistant" }))],
  ] as [string, Script][])("that %s before the first token leaves nothing signed", async (_, script) => {
    peer.play(script);
    let job = await lockJob(chain, worker);
    let refused = await dispatch(worker, job);
    // A model server that was held up for two seconds counts as a slow one: that job was taken.
    for (let again = 0; refused.status === 200 && again < 5; again++) {
      job = await lockJob(chain, worker);
      refused = await dispatch(worker, job);
    }
    expect(refused).toMatchObject({ status: 502, refusal: "backend_failed", names: [] });
    // So the job is still free, for this worker too.
    peer.play(stream(chunk({ content: "ok" }), chunk({}, "stop"), usageAndDone(1, 1)));
    expect((await dispatch(worker, job)).text).toBe("ok");
  });

  it("that is slow to begin does not delay the acknowledgement for long", async () => {
    const begin = Promise.withResolvers<void>();
    peer.play(async (res, body) => {
      await begin.promise;
      await stream(chunk({ content: "late" }), chunk({}, "stop"), usageAndDone(1, 1))(res, body);
    });
    const started = performance.now();
    const job = await lockJob(chain, worker);
    const running = dispatch(worker, job);
    const taken = () => daemon.logs().some((line) => line.msg === "job taken" && line.jobId === job.assignment.jobId);
    await until("the job is taken", async () => taken());
    expect(performance.now() - started).toBeGreaterThan(1_900);
    begin.resolve();
    expect((await running).text).toBe("late");
  });

  it("that sends without end is cut off", async () => {
    peer.play((res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      const more = setInterval(() => res.write(chunk({ content: "x".repeat(50_000) })), 2);
      res.on("close", () => clearInterval(more));
    });
    expect((await run({ request: { max_tokens: 10 } })).error?.code).toBe("answer_too_long");
  });

  it("is let go when the job is refused, and nothing is signed", async () => {
    let open = 0;
    peer.play((res) => {
      open += 1;
      res.on("close", () => {
        open -= 1;
      });
      res.writeHead(200, { "content-type": "text/event-stream" }).write(chunk({ content: "early" }));
    });
    // Without a lock: the worker waits a moment for one to appear, and its backend begins meanwhile.
    const job = await prepare(chain, worker);
    expect(await dispatch(worker, job)).toMatchObject({ status: 409, refusal: "not_locked", names: [] });
    await vi.waitFor(() => expect(open).toBe(0), 60_000);
  });
});

describe("a model server with room for two requests", () => {
  it("answers six that come at once, and the worker announces two places from then on", async () => {
    let running = 0;
    let refused = 0;
    peer.play(async (res, body) => {
      if (running === 2) {
        refused += 1;
        return void res.writeHead(429, { "retry-after": "1" }).end('{"error":{"message":"busy"}}');
      }
      running += 1;
      await stream(chunk({ content: "ok" }), chunk({}, "stop"))(res, body);
      running -= 1;
    });
    const { capacity } = await daemon.health();
    expect(capacity).toBe(32);
    const jobs = await Promise.all(Array.from({ length: 6 }, () => lockJob(chain, worker)));
    const answers = await Promise.all(jobs.map((job) => dispatch(worker, job)));
    expect(answers.map(({ text }) => text)).toEqual(Array(6).fill("ok"));
    // On a busy machine they may not have come at once.
    if (refused > 0) expect((await daemon.health())["capacity"]).toBeLessThan(6);
    expect(await daemon.health()).toMatchObject({ in_flight: 0, queued: 0, queue_capacity: 64 });
  });

  it("that says so only after the job was taken gets it again", async () => {
    let refusals = 0;
    peer.play(async (res, body) => {
      if (refusals === 0) {
        refusals += 1;
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        return void res.writeHead(503, { "retry-after": "0" }).end();
      }
      await stream(chunk({ content: "ok" }), chunk({}, "stop"))(res, body);
    });
    const { names, text } = await run();
    expect([names, text]).toEqual([["acknowledged", "delta", "completed"], "ok"]);
  });

  it("that is full when its client has left gives an empty answer", async () => {
    const refused = Promise.withResolvers<void>();
    peer.play(async (res) => {
      // The job is taken by then.
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      res.writeHead(503, { "retry-after": "20" }).end(() => refused.resolve());
    });
    const job = await lockJob(chain, worker);
    const running = dispatch(worker, job);
    await refused.promise;
    await until("it waits", async () => (await daemon.health())["queued"] === 1);
    const requests = peer.requests.length;
    expect(await endJob(chain, worker, job, gateway)).toBe(204);
    const { names, completed } = await running;
    expect([names, completed?.completion.proofHash]).toEqual([["acknowledged", "completed"], answerHash("")]);
    expect(completed).toMatchObject({ finish_reason: "length", completion: { completionTokens: 0 } });
    // It did not come to the end of its wait, where it would have been sent again.
    expect(peer.requests).toHaveLength(requests);
  });

  it("that stays full makes the worker refuse a job as busy, with nothing signed", async () => {
    peer.play((res) => void res.writeHead(503).end());
    const job = await lockJob(chain, worker, { acknowledgeIn: 12 });
    expect(await dispatch(worker, job)).toMatchObject({ status: 503, refusal: "busy", names: [] });
    expect(isGood(job)).toBe(true);
  });

  it("that does not hold a conversation has the job refused with that", async () => {
    const message =
      "This model's maximum context length is 32768 tokens. However, your messages resulted in 40000 tokens.";
    peer.play(
      (res) => void res.writeHead(400).end(JSON.stringify({ error: { message, code: "context_length_exceeded" } })),
    );
    expect(await run()).toMatchObject({ status: 400, refusal: "context_length_exceeded", names: [] });
  });
});

describe("a worker that runs one job and lets one wait", () => {
  let small: TestWorker;
  let full: Daemon;
  beforeAll(async () => {
    small = await newWorker(generatePrivateKey(), ["qwen3-8b"]);
    await chain.register([worker, small]);
    const models = { WORKER_BACKEND: peer.url, WORKER_MODELS: "qwen3-8b=qwen3:8b" };
    full = await startDaemon(chain, small, { ...models, WORKER_CONCURRENCY: "1", WORKER_QUEUE: "1" });
  });
  afterAll(() => full?.end("SIGTERM"));

  const offer = async (options: JobOptions = {}) => dispatch(small, await lockJob(chain, small, options));

  /** Lets the model server begin every answer and hold it; what it holds, in the order in which it came. */
  function holdAnswers(): ServerResponse[] {
    const held: ServerResponse[] = [];
    peer.play((res) => {
      res.writeHead(200, { "content-type": "text/event-stream" }).write(chunk({ content: "one" }));
      held.push(res);
    });
    return held;
  }
  const finish = (answer: ServerResponse | undefined) => answer?.end(chunk({}, "stop") + usageAndDone(1, 1));

  it("refuses a job that finds no place within half of its offer's time", async () => {
    const held = holdAnswers();
    const first = offer();
    await until("the first runs", async () => held.length === 1);
    const second = await lockJob(chain, small, { acknowledgeIn: 12 });
    expect(await dispatch(small, second)).toMatchObject({ status: 503, refusal: "busy" });
    expect(isGood(second)).toBe(true);
    finish(held[0]);
    expect((await first).completed).not.toBeNull();
  });

  it("queues one job and refuses the next", async () => {
    const held = holdAnswers();
    const first = offer();
    await until("the first runs", async () => held.length === 1);
    const second = offer();
    await until("the second waits", async () => (await full.health()).queued === 1);
    expect(await offer()).toMatchObject({ status: 503, refusal: "busy" });
    finish(held[0]);
    expect((await first).completed).not.toBeNull();
    await until("the second runs", async () => held.length === 2);
    finish(held[1]);
    expect((await second).completed).not.toBeNull();
  });

  it("finishes what runs when it is stopped, and refuses the rest", async () => {
    const held = holdAnswers();
    let began = false;
    const job = await lockJob(chain, small);
    const running = dispatch(small, job, {
      onDelta: () => {
        began = true;
      },
    });
    await until("tokens flow", async () => began);
    const ended = full.end("SIGTERM");
    await until("it drains", async () => (await full.health()).status === "draining");
    expect(await offer()).toMatchObject({ status: 503, refusal: "draining" });
    finish(held[0]);
    expect((await running).completed).not.toBeNull();
    expect(await ended).toBe(0);
  });
});
