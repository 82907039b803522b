import type { ServerResponse } from "node:http";
import { generatePrivateKey } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newWorker, startChain, type TestChain, type TestWorker } from "./support/chain.ts";
import { type Daemon, startDaemon } from "./support/daemon.ts";
import { dispatch, type JobOptions, lockJob } from "./support/dispatch.ts";
import { chunk, type Peer, startPeer, usageAndDone } from "./support/peer.ts";
import { until } from "./support/processes.ts";

let chain: TestChain;
let worker: TestWorker;
let daemon: Daemon;
let peer: Peer;

beforeAll(async () => {
  [chain, peer] = await Promise.all([startChain(), startPeer(["qwen3-8b"])]);
  worker = await newWorker(generatePrivateKey(), ["qwen3-8b"]);
  await chain.register([worker]);
  daemon = await startDaemon(chain, worker, { WORKER_BACKEND: peer.url, WORKER_CONCURRENCY: "1", WORKER_QUEUE: "1" });
});

afterAll(async () => {
  await daemon?.end("SIGTERM");
  await peer?.stop();
  await chain?.stop();
});

const run = async (options: JobOptions = {}) => dispatch(worker, await lockJob(chain, worker, options));

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

describe("a full worker", () => {
  it("refuses a job that waited until it could not be acknowledged any more", async () => {
    const held = holdAnswers();
    const first = run();
    await until("the first runs", async () => held.length === 1);
    expect(await run({ acknowledgeIn: 8 })).toMatchObject({ status: 503, refusal: "busy" });
    finish(held[0]);
    expect((await first).completed).not.toBeNull();
  });

  it("queues one job and refuses the next", async () => {
    const held = holdAnswers();
    const first = run();
    await until("the first runs", async () => held.length === 1);
    const second = run();
    await until("the second waits", async () => (await daemon.health()).queued === 1);
    expect(await run()).toMatchObject({ status: 503, refusal: "busy" });
    finish(held[0]);
    expect((await first).completed).not.toBeNull();
    await until("the second runs", async () => held.length === 2);
    finish(held[1]);
    expect((await second).completed).not.toBeNull();
  });

  it("finishes what runs when it is stopped, and refuses the rest", async () => {
    const held = holdAnswers();
    let began = false;
    const job = await lockJob(chain, worker);
    const running = dispatch(worker, job, {
      onDelta: () => {
        began = true;
      },
    });
    await until("tokens flow", async () => began);
    const ended = daemon.end("SIGTERM");
    await until("it drains", async () => (await daemon.health()).status === "draining");
    expect(await run()).toMatchObject({ status: 503, refusal: "draining" });
    finish(held[0]);
    expect((await running).completed).not.toBeNull();
    expect(await ended).toBe(0);
  });
});
