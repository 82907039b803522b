/** `cmi-client authorize` at a node that mines its first transaction and reverts its second one. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { encodeFunctionResult, type Hex, keccak256, numberToHex, zeroAddress, zeroHash } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { afterEach, beforeEach, expect, it } from "vitest";
import { inferenceEscrowAbi as abi } from "../../protocol/generated/abi.ts";
import { ROOT } from "../support/processes.ts";

const ESCROW = "0x00000000000000000000000000000000000e5c40";
const ACCOUNT = {
  id: 1,
  free: 10,
  escrowed: 0,
  sequence: 0,
  dailyLimit: 0,
  spentToday: 0,
  spentDay: 0,
  flags: 0,
  openDisputes: 0,
  operator: 0,
};

/** Transactions that were sent, and the node's answers by their method. */
const sent: Hex[] = [];
const ANSWERS: Record<string, (params: Hex[]) => unknown> = {
  eth_chainId: () => "0x1",
  eth_call: () => encodeFunctionResult({ abi, functionName: "accountOf", result: ACCOUNT as never }),
  eth_getTransactionCount: () => numberToHex(sent.length),
  eth_getBlockByNumber: () => ({ number: "0x1", baseFeePerGas: "0x1", timestamp: "0x1", transactions: [] }),
  eth_maxPriorityFeePerGas: () => "0x1",
  eth_estimateGas: () => "0x5208",
  eth_sendRawTransaction: ([raw]) => {
    sent.push(keccak256(raw as Hex));
    return sent.at(-1);
  },
  eth_getTransactionReceipt: ([hash]) => ({
    transactionHash: hash,
    status: hash === sent[0] ? "0x1" : "0x0",
    blockNumber: "0x1",
    blockHash: zeroHash,
    from: zeroAddress,
    logs: [],
  }),
};

let node: Server;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "authorize-"));
  node = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += String(piece);
    const { id, method, params } = JSON.parse(text);
    const answer = ANSWERS[method];
    const error = { code: -32601, message: `no ${method}` };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(answer ? { result: answer(params) } : { error }) }));
  });
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  node.closeAllConnections();
  await new Promise((resolve) => node.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

it("names what is mined when the registration of the key fails", async () => {
  const rpc = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
  const args = ["client/command.ts", "authorize", "--rpc", rpc, "--escrow", ESCROW, "--daily-limit", "300"];
  const env = { ...process.env, WALLET_PRIVATE_KEY: generatePrivateKey() };
  const run = promisify(execFile)(process.execPath, [...args, "--key-file", join(folder, "key")], { cwd: ROOT, env });
  const { code, stderr } = await run.then(
    () => ({ code: 0, stderr: "" }),
    (error: { code: number; stderr: string }) => error,
  );
  expect(stderr).toContain(`setAuthorizationKey failed: ${sent[1]} reverted.`);
  expect(stderr).toContain(`Mined before it: the daily limit of 300 credits, by ${sent[0]}.`);
  expect(code).toBe(1);
});
