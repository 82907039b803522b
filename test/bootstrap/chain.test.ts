import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { chainFiles, faultOfDump, rpc } from "../../scripts/dev/chain.ts";
import { query, removeDataDir } from "../../scripts/dev/postgres.ts";
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

/** Waits for a dump that holds this many blocks. */
async function dumped(dataDir: string, blocks: number): Promise<void> {
  const { state } = chainFiles(dataDir);
  for (const deadline = Date.now() + 90_000; Date.now() < deadline; await sleep(100)) {
    if (faultOfDump(state) === null && readFileSync(state, "utf8").includes(`"best_block_number":${blocks}`)) return;
  }
  throw new Error(`no dump of block ${blocks} in ${state}`);
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

    // Several times: anvil adds a block 0 at each start, and from the third on takes any of them.
    for (let i = 0; i < 5; i++) {
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

  it("loses at most a dump's interval to kill -9", async () => {
    stack = await startTestStack({ parts, dataDir });
    await pay(stack);
    await dumped(dataDir, 2);
    await stack.kill("chain", "SIGKILL");
    await stack.stop();
    stack = await startTestStack({ parts, dataDir });
    expect([await height(stack), await balance(stack)]).toEqual([2, "0x1"]);
  });

  /** Takes the newest block out of a dump and leaves what it did in the accounts, as a dump has it that is written meanwhile. */
  const tear = (file: string): void => {
    const dump = JSON.parse(readFileSync(file, "utf8"));
    const height = dump.best_block_number;
    dump.blocks = dump.blocks.filter((block: { header: { number: string } }) => Number(block.header.number) < height);
    dump.transactions = dump.transactions.filter((one: { block_number: number }) => one.block_number < height);
    dump.best_block_number = height - 1;
    dump.block.number = `0x${(height - 1).toString(16)}`;
    writeFileSync(file, JSON.stringify(dump));
  };

  it("whose dump is broken after a kill is set aside, and a new chain starts", async () => {
    const parts = only("chain", "database");
    stack = await startTestStack({ parts, dataDir });
    await pay(stack);
    await pay(stack);
    await query(stack.info.database_url, "CREATE TABLE kept AS SELECT 42 AS answer");
    await stack.stop();
    const keys = readFileSync(join(dataDir, "secrets.json"), "utf8");
    const { state, mark } = chainFiles(dataDir);
    expect(faultOfDump(state)).toBeNull();
    const other = join(dataDir, "other");
    expect(faultOfDump(other)).toMatch(/killed before its first dump/);
    const dump = readFileSync(state);
    writeFileSync(other, dump.subarray(0, dump.length / 2));
    expect(faultOfDump(other)).toMatch(/newest dump was cut short/);
    tear(state);
    writeFileSync(mark, "");

    const lines: string[] = [];
    stack = await startTestStack({ parts, dataDir, write: (line) => lines.push(line) });
    expect(lines.join("\n")).toMatch(/accounts of its newest dump are later than its blocks/);
    expect([await height(stack), await balance(stack)]).toEqual([1, "0x0"]);
    await expect(query(stack.info.database_url, "SELECT answer FROM kept")).rejects.toThrow(/kept/);
    const aside = join(dataDir, readdirSync(dataDir).find((name) => name.startsWith("aside-")) as string);
    expect(readdirSync(aside)).toEqual(expect.arrayContaining(["chain", "postgres", "secrets.json"]));
    expect(readFileSync(join(aside, "secrets.json"), "utf8")).toBe(keys);
    expect(readFileSync(join(dataDir, "secrets.json"), "utf8")).not.toBe(keys);
  });

  it("is used as it is after a stop in order, whatever its accounts are", async () => {
    stack = await startTestStack({ parts, dataDir });
    const [from] = await rpc<string[]>(stack.info.rpc_url, "eth_accounts");
    await rpc(stack.info.rpc_url, "anvil_setNonce", [from, "0x9"]);
    await stack.stop();
    stack = await startTestStack({ parts, dataDir });
    expect(await rpc(stack.info.rpc_url, "eth_getTransactionCount", [from, "latest"])).toBe("0x9");
  });

  it("mines fast without running ahead of the clock or growing elsewhere", async () => {
    stack = await startTestStack({ parts, dataDir });
    for (let i = 0; i < 150; i++) await pay(stack);
    const before = Math.floor(Date.now() / 1000);
    await pay(stack);
    const newest = await rpc<{ timestamp: string }>(stack.info.rpc_url, "eth_getBlockByNumber", ["latest", false]);
    expect(Number(newest.timestamp)).toBeLessThanOrEqual(Date.now() / 1000);
    // The node keeps its distance to the clock in whole seconds, so it can be one behind.
    expect(Number(newest.timestamp)).toBeGreaterThanOrEqual(before - 1);
    const command = readFileSync(`/proc/${stack.processes()[0]?.pid}/cmdline`, "utf8");
    expect(command).toContain(join(dataDir, "chain", "cache"));
  });
});
