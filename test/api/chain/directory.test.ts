/** The models and workers that a gateway reads from a real chain, with strangers among the workers who registered to do harm. */
import { pino } from "pino";
import { createWalletClient, type Hex, http, type PublicClient } from "viem";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { Directory } from "../../../api/chain/directory.ts";
import { connectRpc, Head, type Rpc } from "../../../api/chain/rpc.ts";
import type { Contracts } from "../../../protocol/deployment.ts";
import { workerRegistryAbi } from "../../../protocol/generated/abi.ts";
import { eventually } from "../../support/api-client.ts";
import { mined } from "../../support/mined.ts";
import { holder, MODEL, registerWorker, STAKE, World } from "../../support/pipeline-world.ts";

const logger = pino({ level: "silent" });
const world = new World();
/** Workers that were asked for, by their id. */
let asked: number[] = [];
/** Whether the node refuses to look for events. */
let refusesLogs = false;
let stop = () => {};

beforeAll(() => world.open());
afterEach(() => {
  vi.useRealTimers();
  refusesLogs = false;
  stop();
});
afterAll(() => world.close());

/** A directory that looks ten times a second. */
async function directory(): Promise<Directory> {
  const plain = connectRpc(world.stack.info.rpc_url);
  const rpc: Rpc = {
    ...plain,
    batch: (calls, timeoutMs) =>
      refusesLogs && calls.some(({ method }) => method === "eth_getLogs")
        ? Promise.reject(new Error("block range is too wide"))
        : plain.batch(calls, timeoutMs),
    answers: (calls, timeoutMs) => {
      asked.push(...calls.map(({ params }) => Number(`0x${(params[0] as { data: Hex }).data.slice(10)}`)));
      return plain.answers(calls, timeoutMs);
    },
  };
  const head = new Head(rpc, logger);
  await head.start(100);
  const opened = new Directory(rpc, world.stack.info.contracts as Contracts, head, logger);
  stop = () => {
    opened.stop();
    head.stop();
  };
  asked = [];
  await opened.start(100);
  return opened;
}

/** A call of the registry by the owner of all these workers; resolves when it is mined. */
async function call(
  functionName: "setHosting" | "setEndpoint" | "addStake" | "startUnbonding",
  args: readonly unknown[],
) {
  const wallet = createWalletClient({ account: holder, transport: http(world.stack.info.rpc_url) });
  const address = world.stack.info.contracts.WorkerRegistry as Hex;
  const request = { address, abi: workerRegistryAbi, functionName, args, chain: null } as never;
  await mined(world.node as unknown as PublicClient, await wallet.writeContract(request));
}

const signers = (opened: Directory) => opened.workers().map(({ signer }) => signer);
const isThere = (opened: Directory, signer: Hex, is: boolean) =>
  eventually(
    async () => signers(opened).includes(signer),
    (found) => found === is,
  );

it("a worker that registered every possible model keeps no other from being read", async () => {
  const honest = await registerWorker(world);
  const running = await directory();
  const hostile = await registerWorker(world);
  await isThere(running, hostile.address, true);
  for (let first = 1; first < 65_536; first += 4_000) {
    const models = Array.from({ length: Math.min(4_000, 65_536 - first) }, (_, index) => first + index);
    await call("setHosting", [hostile.address, models, true]);
  }
  // It may have begun to unbond: what nobody can see takes no jobs.
  await isThere(running, hostile.address, false);
  expect(signers(running)).toContain(honest.address);
  const later = await registerWorker(world);
  await isThere(running, later.address, true);
  stop();
  const started = await directory();
  expect(signers(started)).toEqual(expect.arrayContaining([honest.address, later.address]));
  expect(signers(started)).not.toContain(hostile.address);
});

it("many workers of thousands of models keep nobody from being read", async () => {
  const honest = await registerWorker(world);
  const models = Array.from({ length: 4_000 }, (_, index) => 1_000 + index);
  for (let n = 0; n < 20; n++) {
    const { address } = await registerWorker(world, 0n);
    for (const first of [0, 4_000, 8_000]) {
      await call("setHosting", [address, models.map((model) => model + first), true]);
    }
  }
  expect(signers(await directory())).toContain(honest.address);
});

it("workers without a stake are not read again until they have it", async () => {
  const staked = await registerWorker(world);
  const opened = await directory();
  asked = [];
  // The time stands still: nothing is read for its age.
  vi.useFakeTimers({ toFake: ["Date"] });
  const stranger = await registerWorker(world, 0n);
  await call("setEndpoint", [stranger.address, "https://stranger.example"]);
  await call("addStake", [stranger.address, 1n]);
  await call("setEndpoint", [staked.address, "https://moved.example"]);
  await eventually(
    async () => opened.worker(staked.address)?.endpoint,
    (endpoint) => endpoint === "https://moved.example",
  );
  const { id } = opened.worker(staked.address) as { id: number };
  expect(asked).toContain(id);
  expect(asked).not.toContain(id + 1);
  expect(signers(opened)).not.toContain(stranger.address);
  await call("addStake", [stranger.address, STAKE]);
  await isThere(opened, stranger.address, true);
  expect(opened.workersOf(MODEL).map(({ signer }) => signer)).toContain(stranger.address);
});

it("a worker has the models that it hosts now, and no jobs once it unbonds", async () => {
  const worker = await registerWorker(world);
  const opened = await directory();
  // Nothing is read for its age.
  vi.useFakeTimers({ toFake: ["Date"] });
  const hosts = (model: number) => opened.workersOf(model).some(({ signer }) => signer === worker.address);
  expect([hosts(MODEL), hosts(3)]).toEqual([true, false]);
  await call("setHosting", [worker.address, [3], true]);
  await eventually(async () => hosts(3), Boolean);
  await call("setHosting", [worker.address, [MODEL], false]);
  await eventually(
    async () => hosts(MODEL),
    (found) => !found,
  );
  await call("startUnbonding", [worker.address]);
  await isThere(opened, worker.address, false);
});

it("a change is seen after half a minute where the node refuses to search events", async () => {
  const worker = await registerWorker(world);
  const opened = await directory();
  vi.useFakeTimers({ toFake: ["Date"] });
  refusesLogs = true;
  await call("startUnbonding", [worker.address]);
  vi.setSystemTime(Date.now() + 31_000);
  await isThere(opened, worker.address, false);
  // What comes after the blocks that were passed over is seen at once.
  refusesLogs = false;
  const later = await registerWorker(world);
  await isThere(opened, later.address, true);
});
