/**
 * A worker that settles by itself behind nodes that know no `pending` block, take three calls a batch, do not say why a call fails, or refuse
 * some requests: iotexproject/iotex-core#4640, status-im/nimbus-eth1#4687, chainwayxyz/citrea#1749, hemilabs/ui-monorepo#887.
 */
import { parseEther } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ChainStatus } from "../../protocol/job-status.ts";
import { NODE_PROFILES, type NodeProfile } from "../support/node-profiles.ts";
import { NodeProxy } from "../support/node-proxy.ts";
import { newWorker, startChain, type TestChain } from "./support/chain.ts";
import { type Daemon, startDaemon } from "./support/daemon.ts";
import { dispatch, lockJob } from "./support/dispatch.ts";
import { until } from "./support/processes.ts";

const { besu, infura, sequencer } = NODE_PROFILES;
const threeCalls = { most: 3, form: "error", refused: { code: -32_600, message: "batch too large" } } as const;
const profiles: NodeProfile[] = [
  besu,
  { ...infura, name: "infura, with three calls a batch", batch: threeCalls, pendingTag: false },
  { ...sequencer, limited: { share: 0.05, form: "429" } },
];

let chain: TestChain;
let mining: NodeJS.Timeout;
const daemons: Daemon[] = [];
const proxies: NodeProxy[] = [];

beforeAll(async () => {
  chain = await startChain({ completion: 40, inclusion: 120, finalization: 3 });
  mining = setInterval(() => void chain.rpc.mine({ blocks: 1 }).catch(() => {}), 500);
});

afterAll(async () => {
  clearInterval(mining);
  await Promise.all(daemons.map((daemon) => daemon.end("SIGKILL")));
  for (const proxy of proxies) proxy.close();
  await chain?.stop();
});

it.each(profiles)("behind a node like $name it proves and finalizes its job", async (profile) => {
  const worker = await newWorker(generatePrivateKey(), ["qwen3-8b"]);
  await chain.register([worker]);
  await chain.rpc.setBalance({ address: worker.address, value: parseEther("1") });
  const proxy = await NodeProxy.open(chain.rpcUrl, profile);
  proxies.push(proxy);
  daemons.push(
    await startDaemon(chain, worker, {
      RPC_URL: proxy.url,
      WORKER_SELF_SETTLE_AFTER: "1",
      WORKER_SETTLEMENT_POLL_MS: "500",
    }),
  );
  const job = await lockJob(chain, worker, { prompt: "[[tokens:300]]" });
  await dispatch(worker, job);
  const isSettled = async () => (await chain.jobOf(job.assignment.jobId)).status === ChainStatus.Settled;
  await until("the job is settled", isSettled, 60_000);
  expect(proxy.count("eth_sendRawTransaction")).toBeGreaterThan(0);
});
