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
}, 60_000);

afterAll(async () => {
  await daemon?.end("SIGTERM");
  await peer?.stop();
  await chain?.stop();
});

const run = async (options: JobOptions = {}) => dispatch(worker, await lockJob(chain, worker, options));

describe("a full worker", () => {
  it("refuses a job that waited until it could not be acknowledged any more", async () => {
    const held: ServerResponse[] = [];
    peer.play((res) => {
      res.writeHead(200, { "content-type": "text/event-stream" }).write(chunk({ content: "one" }));
      held.push(res);
    });
    const first = run();
    await until("the first runs", async () => held.length === 1);
    expect(await run({ acknowledgeIn: 2 })).toMatchObject({ status: 503, refusal: "busy" });
    held[0]?.end(chunk({}, "stop") + usageAndDone(1, 1));
    expect((await first).completed).not.toBeNull();
  });

  it("queues one job and refuses the next", async () => {
    let finish = () => {};
    peer.play((res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(chunk({ content: "one" }));
      finish = () => void res.end(chunk({}, "stop") + usageAndDone(1, 1));
    });
    const first = run();
    await until("the first runs", async () => (await daemon.health()).in_flight === 1);
    const second = run();
    await until("the second waits", async () => (await daemon.health()).queued === 1);
    expect(await run()).toMatchObject({ status: 503, refusal: "busy" });
    peerFinishes(() => finish());
    expect((await first).completed).not.toBeNull();
    await until("the second runs", async () => (await daemon.health()).queued === 0);
    peerFinishes(() => finish());
    expect((await second).completed).not.toBeNull();
  });

  it("finishes what runs when it is stopped, and refuses the rest", async () => {
    let finish = () => {};
    peer.play((res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(chunk({ content: "one" }));
      finish = () => void res.end(chunk({}, "stop") + usageAndDone(1, 1));
    });
    const running = run();
    await until("it runs", async () => (await daemon.health()).in_flight === 1);
    await until("tokens flow", async () => daemon.logs().some((line) => line.msg === "job taken"));
    const ended = daemon.end("SIGTERM");
    await until("it drains", async () => (await daemon.health()).status === "draining");
    expect(await run()).toMatchObject({ status: 503, refusal: "draining" });
    await new Promise((resolve) => setTimeout(resolve, 200));
    peerFinishes(() => finish());
    expect((await running).completed).not.toBeNull();
    expect(await ended).toBe(0);
  });
});

/** Ends the answer once the peer has begun it. */
function peerFinishes(finish: () => void): void {
  setTimeout(finish, 150);
}
