import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { chainFiles, isWhole } from "../../scripts/local-stack/chain-state.ts";
import { removeDataDir } from "../../scripts/local-stack/postgres-home.ts";
import { rpc } from "../../scripts/local-stack/rpc.ts";
import { only, startTestStack, type TestStack, temporaryDataDir } from "../support/stack.ts";

const WALLET = "0x1111111111111111111111111111111111111111";
const parts = only("chain");
const height = async (stack: TestStack): Promise<number> =>
  Number(await rpc<string>(stack.info.rpc_url, "eth_blockNumber"));
const balance = (stack: TestStack): Promise<string> =>
  rpc<string>(stack.info.rpc_url, "eth_getBalance", [WALLET, "latest"]);

/** Pays, and waits until that is mined: the node takes a transaction before it has mined it. */
async function pay(stack: TestStack): Promise<void> {
  const [from] = await rpc<string[]>(stack.info.rpc_url, "eth_accounts");
  const hash = await rpc(stack.info.rpc_url, "eth_sendTransaction", [{ from, to: WALLET, value: "0x1" }]);
  await expect
    .poll(() => rpc(stack.info.rpc_url, "eth_getTransactionReceipt", [hash]), { timeout: 60_000 })
    .toBeTruthy();
}

/** Waits for the next dump that holds what is on the chain now. */
async function dumped(dataDir: string, file: "state" | "previous", blocks: number): Promise<void> {
  const path = chainFiles(dataDir)[file];
  for (const deadline = Date.now() + 90_000; Date.now() < deadline; await sleep(100)) {
    if (isWhole(path) && readFileSync(path, "utf8").includes(`"best_block_number":${blocks}`)) return;
  }
  throw new Error(`no dump of block ${blocks} in ${path}`);
}

describe("the kept chain", () => {
  let stack: TestStack | undefined;
  let dataDir = temporaryDataDir();
  afterEach(async () => {
    await stack?.stop();
    removeDataDir(dataDir);
    dataDir = temporaryDataDir();
  });

  it("is the same after a stop: genesis, height, balances, receipts", async () => {
    stack = await startTestStack({ parts, dataDir });
    await pay(stack);
    const genesis = await rpc<{ hash: string }>(stack.info.rpc_url, "eth_getBlockByNumber", ["0x0", false]);
    const block = await rpc<{ transactions: string[] }>(stack.info.rpc_url, "eth_getBlockByNumber", ["0x2", false]);

    // Several times: anvil adds a block 0 at each start, and from the third on may take the wrong one.
    for (let i = 0; i < 4; i++) {
      await sleep(1_000);
      await stack.stop();
      stack = await startTestStack({ parts, dataDir });
    }
    expect(await height(stack)).toBe(2);
    expect(await balance(stack)).toBe("0x1");
    expect((await rpc<{ hash: string }>(stack.info.rpc_url, "eth_getBlockByNumber", ["0x0", false])).hash).toBe(
      genesis.hash,
    );
    expect(await rpc(stack.info.rpc_url, "eth_getTransactionReceipt", [block.transactions[0]])).toMatchObject({
      status: "0x1",
    });
  });

  it("loses at most a dump's interval to kill -9, and nothing when its newest dump is cut short", async () => {
    stack = await startTestStack({ parts, dataDir });
    await pay(stack);
    await dumped(dataDir, "previous", 2);
    await stack.kill("chain", "SIGKILL");
    await stack.stop();

    const { state } = chainFiles(dataDir);
    truncateSync(state, Math.floor(readFileSync(state).length / 2));
    const lines: string[] = [];
    stack = await startTestStack({ parts, dataDir, write: (line) => lines.push(line) });
    expect(await balance(stack)).toBe("0x1");
    expect(lines.join("\n")).toMatch(/cut short.*resumed from the one before/);
  });

  /** Takes the newest block out of a dump and leaves what it did in the accounts, as a dump has it that is written meanwhile. */
  const tear = (file: string, height: number): void => {
    const dump = JSON.parse(readFileSync(file, "utf8"));
    dump.blocks = dump.blocks.filter((block: { header: { number: string } }) => Number(block.header.number) < height);
    dump.transactions = dump.transactions.filter((one: { block_number: number }) => one.block_number < height);
    expect(dump.best_block_number).toBe(height);
    writeFileSync(file, JSON.stringify(dump));
  };

  it("takes the dump before one whose accounts are later than its blocks", async () => {
    stack = await startTestStack({ parts, dataDir });
    await pay(stack);
    await dumped(dataDir, "previous", 2);
    await pay(stack);
    await stack.stop();
    tear(chainFiles(dataDir).state, 3);
    const lines: string[] = [];
    stack = await startTestStack({ parts, dataDir, write: (line) => lines.push(line) });
    expect([await height(stack), await balance(stack)]).toEqual([2, "0x1"]);
    expect(lines.join("\n")).toMatch(/does not fit itself: resumed from the one before/);
  });

  it("without another one goes on after the last block, without a gap, and says what is not told", async () => {
    stack = await startTestStack({ parts, dataDir });
    await pay(stack);
    await pay(stack);
    await stack.stop();
    const { state, previous } = chainFiles(dataDir);
    tear(state, 3);
    rmSync(previous, { force: true });
    const lines: string[] = [];
    stack = await startTestStack({ parts, dataDir, write: (line) => lines.push(line) });
    expect(lines.join("\n")).toMatch(/1 transactions have their effects and no events/);
    expect([await height(stack), await balance(stack)]).toEqual([2, "0x2"]);
    await pay(stack);
    expect(await rpc(stack.info.rpc_url, "eth_getBlockByNumber", ["0x3", false])).toMatchObject({ number: "0x3" });
  });

  it("starts anew, and says so, when no dump can be read", async () => {
    stack = await startTestStack({ parts, dataDir });
    await pay(stack);
    await stack.stop();
    const { state, previous } = chainFiles(dataDir);
    truncateSync(state, 10);
    removeDataDir(previous);
    const lines: string[] = [];
    stack = await startTestStack({ parts, dataDir, write: (line) => lines.push(line) });
    expect(await height(stack)).toBe(1);
    expect(lines.join("\n")).toContain("starts anew");
  });

  it("mines as fast as it can without running ahead of the clock, and without growing outside its folder", async () => {
    stack = await startTestStack({ parts, dataDir });
    for (let i = 0; i < 150; i++) await pay(stack);
    const before = Math.floor(Date.now() / 1000);
    await pay(stack);
    const newest = await rpc<{ timestamp: string }>(stack.info.rpc_url, "eth_getBlockByNumber", ["latest", false]);
    expect(Number(newest.timestamp)).toBeLessThanOrEqual(Date.now() / 1000);
    expect(Number(newest.timestamp)).toBeGreaterThanOrEqual(before);
    const command = readFileSync(`/proc/${stack.processes()[0]?.pid}/cmdline`, "utf8");
    expect(command).toContain(join(dataDir, "chain", "cache"));
  });
});
