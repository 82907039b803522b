/** An indexer whose node is behind a user, a password and a key, and answers when the test lets it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GuardedNode, passTo, startGuardedNode } from "../support/guarded-node.ts";
import { Stage } from "./support/stage.ts";

let stage: Stage;
let node: GuardedNode;
/** What happens before the next answer with a block's logs. */
let beforeLogs: () => Promise<void> = async () => {};

beforeAll(async () => {
  stage = await Stage.open();
  node = await startGuardedNode(async (body) => {
    if (body.includes('"blockHash"') && body.includes("eth_getLogs")) await beforeLogs();
    return passTo(stage.chain.url)(body);
  });
}, 180_000);
afterAll(async () => {
  await stage?.close();
  await node?.stop();
});

test("indexes, and says nothing of the secrets when the node turns it away", async () => {
  await stage.world.deposit(1_000);
  const indexer = await stage.launchIndexer({ rpcUrl: node.url, wsUrl: "" });
  await indexer.ready();
  await stage.caughtUp();
  const before = node.served;
  await stage.world.deposit(1_000);
  await stage.caughtUp();
  expect(node.served).toBeGreaterThan(before);

  // The block is replaced after it was fetched, and before its logs are. No further block follows.
  const replaced = Promise.withResolvers<void>();
  const deposited = stage.world.deposit(1_000);
  beforeLogs = async () => {
    await deposited;
    beforeLogs = async () => {};
    const last = await stage.lastTransactions(1);
    await stage.chain.rpc("anvil_reorg", [1, []]);
    replaced.resolve(stage.agreed().then(() => stage.mineAgain(last)));
  };
  await replaced.promise;
  await stage.agreed();
  expect(indexer.log).toContain("unknown block");

  // The head is told still, so Ponder asks what happened there, and logs what it hears.
  node.refuse("eth_getLogs");
  await stage.world.deposit(1_000);
  await expect.poll(() => indexer.log, { timeout: 60_000 }).toMatch(/Received JSON-RPC error[\s\S]*not yours: /);
  await indexer.stop("SIGINT");
  for (const secret of node.secrets) expect(indexer.log).not.toContain(secret);

  node.refuse();
  const again = await stage.launchIndexer({ rpcUrl: node.url, wsUrl: "" });
  expect(await again.part.exited).toBe(1);
  expect(again.log).toContain("no node answers at RPC_URL (127.0.0.1");
  for (const secret of node.secrets) expect(again.log).not.toContain(secret);
}, 240_000);
