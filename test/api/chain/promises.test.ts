/** The transaction pipeline behind a sequencer that promises transactions before it makes a block. The tests make the blocks. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { Sequencer } from "../../../scripts/dev/sequencer.ts";
import { eventually } from "../../support/api-client.ts";
import { lock, World } from "../../support/pipeline-world.ts";

const world = new World();
let sequencer: Sequencer;

beforeAll(() => world.open());
beforeEach(async () => {
  sequencer = await Sequencer.open(world.stack.info.rpc_url, { blockSeconds: 2 });
});
afterEach(async () => {
  await world.endPipelines();
  await sequencer.close();
});
afterAll(() => world.close());

async function start() {
  const started = await world.start({ rpcUrl: sequencer.url });
  await world.node.setAutomine(false);
  return started;
}

/** Whether the promise has resolved by now. */
const isThere = (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), new Promise((resolve) => setImmediate(() => resolve(false)))]);

it("a promise comes before the block and says what is in it; then comes the outcome", async () => {
  const { pipeline, head } = await start();
  const operation = lock(head);
  const { promised, mined } = pipeline.submit(operation);
  const promise = await promised;
  expect(promise).toMatchObject({
    status: "promised",
    events: [{ name: "JobLocked", args: { jobId: operation.jobId } }],
  });
  expect(await isThere(mined)).toBe(false);
  await world.node.mine({ blocks: 1 });
  const outcome = await mined;
  expect(outcome).toMatchObject({ status: "mined", hash: promise.hash, blockNumber: promise.blockNumber });
});

it("that an operation would be refused is no promise", async () => {
  const { pipeline, head } = await start();
  const operation = lock(head);
  const first = pipeline.submit(operation);
  await first.promised;
  const second = pipeline.submit(operation);
  await second.signed;
  await eventually(
    async () => sequencer.counts.promised,
    (count) => count === 2,
  );
  expect(await isThere(second.promised)).toBe(false);
  await world.node.mine({ blocks: 1 });
  expect(await first.mined).toMatchObject({ status: "mined" });
  expect(await second.promised).toMatchObject({ status: "reverted", revert: { name: "Job_AlreadyExists" } });
});

it("after a broken promise the same bytes go out again once the block is there", async () => {
  const { pipeline, head, outbox } = await start();
  sequencer.faults = { breakEvery: 1 };
  const operation = lock(head);
  const { signed, promised, mined } = pipeline.submit(operation);
  const hash = await signed;
  expect(await promised).toMatchObject({ status: "promised", hash });
  await eventually(
    async () => sequencer.counts.broken,
    (count) => count === 1,
  );
  sequencer.faults = {};
  await world.node.mine({ blocks: 1 });
  await world.untilPending(1);
  const [row] = await outbox.open();
  expect(row?.variants.map((variant) => variant.hash)).toEqual([hash]);
  await world.node.mine({ blocks: 1 });
  expect(await mined).toMatchObject({ status: "mined", hash });
});

it("what is promised leaves room for more than a block's eight transactions", async () => {
  const { pipeline, head } = await start();
  const locks = [];
  for (let sent = 0; sent < 12; sent += 1) {
    const { promised, mined } = pipeline.submit(lock(head));
    expect(await promised).toMatchObject({ status: "promised" });
    locks.push(mined);
  }
  await world.node.mine({ blocks: 1 });
  for (const mined of locks) expect(await mined).toMatchObject({ status: "mined" });
});
