/** What the command says where it fails: at a node that mines its first transaction and reverts its second one, and at none. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { encodeFunctionResult, type Hex, keccak256, numberToHex, zeroAddress, zeroHash } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { afterEach, beforeEach, expect, it } from "vitest";
import { inferenceEscrowAbi as abi } from "../../../protocol/generated/abi.ts";
import { ROOT } from "../../support/processes.ts";
import { serve } from "../support/serve.ts";

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

let rpc: string;
let folder: string;
beforeEach(async () => {
  sent.length = 0;
  folder = mkdtempSync(join(tmpdir(), "authorize-"));
  rpc = await serve(async (request, response) => {
    const { id, method, params } = JSON.parse(await text(request));
    const answer = ANSWERS[method];
    const error = { code: -32601, message: `no ${method}` };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(answer ? { result: answer(params) } : { error }) }));
  });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = async (...args: string[]): Promise<{ code: number; stderr: string }> => {
  const env = { ...process.env, WALLET_PRIVATE_KEY: generatePrivateKey() };
  // A command that does not fail would listen for ever.
  const options = { cwd: ROOT, env, timeout: 60_000 };
  return await promisify(execFile)(process.execPath, ["client/command.ts", ...args], options).then(
    () => ({ code: 0, stderr: "" }),
    (error: { code: number; stderr: string }) => error,
  );
};
const DEAD = "http://127.0.0.1:9";

it("says that no node answers, and makes no key", async () => {
  const file = join(folder, "key");
  const { code, stderr } = await run("authorize", "--rpc", DEAD, "--escrow", ESCROW, "--key-file", file);
  expect(stderr).toMatch(/^cmi-client: no node answers at 127\.0\.0\.1:9: /);
  expect([code, existsSync(file)]).toEqual([1, false]);
});

it("says that the address is no escrow", async () => {
  const call = ANSWERS["eth_call"];
  ANSWERS["eth_call"] = () => "0x";
  try {
    const args = ["authorize", "--rpc", rpc, "--escrow", ESCROW];
    const { code, stderr } = await run(...args, "--key-file", join(folder, "key"));
    expect(stderr).toMatch(/^cmi-client: the contract at 0x0+e5c40 does not answer like an InferenceEscrow: /i);
    expect(code).toBe(1);
  } finally {
    Object.assign(ANSWERS, { eth_call: call });
  }
});

it("takes no node's key from its arguments, which every local user can read", async () => {
  const args = ["proxy", "--escrow", ESCROW, "--base-url", "http://127.0.0.1:9/v1", "--port", "0"];
  for (const url of ["https://node.example/v3/0123456789abcdef0123", "https://me:secret-word@node.example"]) {
    const { code, stderr } = await run(...args, "--rpc", url);
    expect(stderr).toMatch(/^cmi-client: --rpc holds a key, .*: set RPC_URL instead/);
    expect(stderr).not.toMatch(/0123456789abcdef0123|secret-word/);
    expect(code).toBe(2);
  }
  expect((await run(...args)).stderr).toMatch(/^cmi-client: RPC_URL is missing/);
});

it("does not start an endpoint for what is no address of a service", async () => {
  const args = ["proxy", "--rpc", DEAD, "--escrow", ESCROW, "--port", "0"];
  for (const baseUrl of ["service.example/v1", "localhost:8080/v1"]) {
    const { code, stderr } = await run(...args, "--base-url", baseUrl);
    expect(stderr).toMatch(/^cmi-client: --base-url is no address of a service/);
    expect(code).toBe(2);
  }
});

it("names what is mined when the registration of the key fails", async () => {
  const args = ["authorize", "--rpc", rpc, "--escrow", ESCROW, "--daily-limit", "300"];
  const { code, stderr } = await run(...args, "--key-file", join(folder, "key"));
  expect(stderr).toContain(`setAuthorizationKey failed: ${sent[1]} reverted.`);
  expect(stderr).toContain(`Mined before it: the daily limit of 300 credits, by ${sent[0]}.`);
  expect(code).toBe(1);
});

it.each([
  [10_000, 0, [], "1000"],
  [5_000, 0, [], "500"],
  [10, 0, [], "500"],
  [10_000, 2, ["--daily-limit", "7"], "7"],
])("sets a daily limit for %i free credits and flags %i, asked for %j: %s", async (free, flags, option, limit) => {
  const { stderr } = await withAccount({ free, flags }, option);
  expect(stderr).toContain(`Mined before it: the daily limit of ${limit} credits, by ${sent[0]}.`);
});

it.each([
  [2, []],
  [0, ["--daily-limit", "none"]],
])("leaves the limit of a wallet with flags %i as it is, asked for %j", async (flags, option) => {
  expect(await withAccount({ free: 10_000, flags }, option)).toEqual({ code: 0, stderr: "" });
  expect(sent).toHaveLength(1);
});

/** Registers a key for such a wallet. */
async function withAccount(account: { free: number; flags: number }, option: readonly string[]) {
  const before = { ...ACCOUNT };
  Object.assign(ACCOUNT, account);
  try {
    return await run("authorize", "--rpc", rpc, "--escrow", ESCROW, "--key-file", join(folder, "key"), ...option);
  } finally {
    Object.assign(ACCOUNT, before);
  }
}
