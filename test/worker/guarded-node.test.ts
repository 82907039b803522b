/** A worker whose node is behind a user, a password and a key: it serves, and its log has none of them. */
import { generatePrivateKey } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type GuardedNode, passTo, startGuardedNode } from "../support/guarded-node.ts";
import { newWorker, startChain, type TestChain, type TestWorker } from "./support/chain.ts";
import { type Daemon, startDaemon } from "./support/daemon.ts";
import { complete, dispatch, lockJob } from "./support/dispatch.ts";
import { until } from "./support/processes.ts";

let chain: TestChain;
let worker: TestWorker;
let node: GuardedNode;
let daemon: Daemon;

beforeAll(async () => {
  chain = await startChain();
  worker = await newWorker(generatePrivateKey(), ["qwen3-8b"]);
  await chain.register([worker]);
  node = await startGuardedNode(passTo(chain.rpcUrl));
  daemon = await startDaemon(chain, worker, { RPC_URL: node.url, WORKER_LOG_LEVEL: "debug" });
});

afterAll(async () => {
  await daemon?.end("SIGKILL");
  await node?.stop();
  await chain?.stop();
});

it("serves a job, and says nothing of the secrets when the node turns it away", async () => {
  const job = await lockJob(chain, worker);
  const streamed = await dispatch(worker, job);
  expect(streamed.completed).not.toBeNull();
  await complete(chain, streamed);
  await until("the answer is erased", async () => (await daemon.health()).unsettled === 0, 60_000);

  await dispatch(worker, await lockJob(chain, worker));
  node.refuse();
  await until("the log complains", async () => daemon.logs().find((line) => Number(line.level) >= 50), 60_000);
  for (const secret of node.secrets) expect(daemon.output()).not.toContain(secret);
});
