/** The command: a wallet is set up, and a program in any language asks through the local endpoint. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type pg from "pg";
import { type Address, decodeFunctionData, zeroAddress } from "viem";
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Keys } from "../../api/account/keys.ts";
import { provideCredits } from "../../scripts/dev/wallets.ts";
import { chat, eventually } from "../support/api-client.ts";
import { chainReader } from "../support/chain-reader.ts";
import { openStore } from "../support/client.ts";
import { richAccount } from "../support/gas.ts";
import { Part, ROOT } from "../support/processes.ts";
import { MODEL } from "../support/service-stack.ts";
import { type SharedStack, sharedStack } from "../support/shared-fixtures.ts";
import { plainEnv } from "../support/stack.ts";

const run = promisify(execFile);
const COMMAND = "client/command.ts";

let stack: SharedStack;
let pool: pg.Pool;
let folder: string;
let keyFile: string;
let proxy: Part;
let url: string;
/** What programs send as their API key. */
let localKey: string;
const walletKey = generatePrivateKey();
const wallet = privateKeyToAccount(walletKey);

beforeAll(async () => {
  stack = await sharedStack("service");
  pool = openStore(stack);
  folder = mkdtempSync(join(tmpdir(), "client-"));
  keyFile = join(folder, "authorization.key");
  const { rpc_url, contracts } = stack.info;
  await provideCredits({ rpc_url, contracts }, { funder: await richAccount(stack), owner: wallet, credits: 500 });
});
afterAll(async () => {
  await proxy?.stop("SIGTERM");
  await pool?.end();
  rmSync(folder, { recursive: true, force: true });
});

const place = () => ["--rpc", stack.info.rpc_url, "--escrow", stack.info.contracts["InferenceEscrow"] as Address];
const command = (args: string[], env: NodeJS.ProcessEnv = {}) =>
  run(process.execPath, [COMMAND, ...args], { cwd: ROOT, env: { ...plainEnv(), ...env } });

describe("authorize", () => {
  it("makes a key that only its owner can read, and registers it with limits", async () => {
    const args = ["authorize", ...place(), "--key-file", keyFile, "--daily-limit", "300"];
    const { stdout } = await command(args, { WALLET_PRIVATE_KEY: walletKey });
    const key = readFileSync(keyFile, "utf8").trim() as `0x${string}`;
    expect(stdout).toContain(privateKeyToAddress(key));
    expect(stdout).not.toContain(key);
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    const { client, escrow, account } = chainReader(stack);
    expect(await account(wallet.address)).toMatchObject({ dailyLimit: 300, flags: 2 | 4 });
    const { inferenceEscrowAbi: abi } = await import("../../protocol/generated/abi.ts");
    const call = { address: escrow, abi, functionName: "authorizationKeyOf", args: [wallet.address] } as const;
    expect(await client.readContract(call)).toBe(privateKeyToAddress(key));
    // A second run must not lose a key that is in use.
    await expect(command(args, { WALLET_PRIVATE_KEY: walletKey })).rejects.toMatchObject({ code: 1 });
    expect(readFileSync(keyFile, "utf8").trim()).toBe(key);
  });

  it("makes, names and revokes a dispute key, or says what several owners must call", async () => {
    const file = join(folder, "dispute.key");
    const env = { WALLET_PRIVATE_KEY: walletKey };
    const { client, escrow } = chainReader(stack);
    const { inferenceEscrowAbi: abi } = await import("../../protocol/generated/abi.ts");
    const call = { address: escrow, abi, functionName: "disputeKeyOf", args: [wallet.address] } as const;
    const named = await command(["dispute-key", ...place(), "--key-file", file, "--most-open", "3"], env);
    const key = privateKeyToAddress(readFileSync(file, "utf8").trim() as `0x${string}`);
    expect(named.stdout).toContain(key);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await client.readContract(call)).toMatchObject([key, expect.any(Number), 3, 0]);
    const other = join(folder, "other.key");
    const asked = await command(["dispute-key", ...place(), "--key-file", other, "--wallet", wallet.address]);
    const data = asked.stdout.trim().split("\n").at(-1) as `0x${string}`;
    const called = decodeFunctionData({ abi, data });
    expect(called).toEqual({
      functionName: "setDisputeKey",
      args: [privateKeyToAddress(readFileSync(other, "utf8").trim() as `0x${string}`), 8],
    });
    await command(["dispute-key", ...place(), "--revoke"], env);
    expect((await client.readContract(call))[0]).toBe(zeroAddress);
  });

  it.each([
    [["dispute-key", "--rpc", "http://127.0.0.1:1", "--escrow", zeroAddress, "--key-file", "x"], /--wallet or WALLET_/],
    [["authorize", "--rpc", "http://127.0.0.1:1", "--escrow", "0x12"], /--escrow 0x12 is not an address/],
    [["proxy", "--colour"], /Unknown option/],
  ])("says what is wrong with %j", async (args, says) => {
    await expect(command(args)).rejects.toMatchObject({ code: 2, stderr: expect.stringMatching(says) });
  });
});

describe("proxy", () => {
  beforeAll(async () => {
    const args = [COMMAND, "proxy", ...place(), "--base-url", `${stack.info.base_url}/v1`, "--port", "0", "--json"];
    const env = {
      ...plainEnv(),
      SERVICE_API_KEY: await new Keys(pool).regenerate(wallet.address),
      WALLET_PRIVATE_KEY: walletKey,
    };
    proxy = new Part("proxy", process.execPath, [...args, "--key-file", keyFile], { cwd: ROOT, env });
    await proxy.until(async () => /Listening on/.test(proxy.output));
    url = /Listening on (\S+)/.exec(proxy.output)?.[1] as string;
    await proxy.until(async () => /API key for your programs/.test(proxy.output));
    localKey = /API key for your programs: (\S+)/.exec(proxy.output)?.[1] as string;
  });

  const text = JSON.stringify(chat(MODEL, "Say hello to 東京."));
  const headers = () => ["-H", "content-type: application/json", "-H", `authorization: Bearer ${localKey}`];

  it("answers curl, plain and streamed", async () => {
    const curl = async (body: string) =>
      (await run("curl", ["-sS", "-N", `${url}/chat/completions`, ...headers(), "-d", body])).stdout;
    expect(JSON.parse(await curl(text)).choices[0].message.content).toMatch(/\w/);
    const streamed = await curl(JSON.stringify(chat(MODEL, "Say hello.", { stream: true })));
    expect(streamed).toMatch(/^data: \{.*data: \[DONE\]\n\n$/s);
  });

  it("answers Python's http.client", async () => {
    const program = `
import http.client, json, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
connection.request("POST", "/v1/chat/completions", sys.argv[2].encode(), {"content-type": "application/json", "authorization": "Bearer " + sys.argv[3]})
reply = connection.getresponse()
print(reply.status, json.loads(reply.read())["choices"][0]["message"]["content"])`;
    const { stdout } = await run("python3", ["-c", program, new URL(url).port, text, localKey]);
    expect(stdout).toMatch(/^200 \w/);
  });

  it("has each job signed under its own id, and prints a line for each charge", async () => {
    const jobs = await chainReader(stack).account(wallet.address);
    expect(jobs.free + jobs.escrowed).toBeLessThan(500);
    await eventually(
      async () => (await chainReader(stack).account(wallet.address)).escrowed,
      (escrowed) => escrowed === 0,
    );
    const told = await eventually(
      async () => proxy.output.split("\n").filter((line) => line.includes('"kind"')),
      (lines) => lines.length === 3,
    );
    for (const line of told)
      expect(JSON.parse(line)).toMatchObject({ kind: "holds", status: "settled", creditsCharged: 8 });
  });

  it("serves neither other users, nor web pages, nor other names of this machine", async () => {
    const post = (headers: string[]) =>
      run("curl", [
        "-sS",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        `${url}/chat/completions`,
        ...headers.flatMap((one) => ["-H", one]),
        "-d",
        text,
      ]);
    expect((await post([])).stdout).toBe("401");
    expect((await post([`authorization: Bearer ${localKey}x`])).stdout).toBe("401");
    expect((await post(["origin: https://example.com"])).stdout).toBe("403");
    expect((await post(["host: example.com"])).stdout).toBe("403");
  });

  it("answers open requests when it is told to end, and ends when they are settled", async () => {
    const body = JSON.stringify(chat(MODEL, "Write. [[tokens:60]]", { stream: true }));
    const headers = { "content-type": "application/json", authorization: `Bearer ${localKey}` };
    const reply = await fetch(`${url}/chat/completions`, { method: "POST", headers, body });
    proxy.child.kill("SIGTERM");
    expect(await reply.text()).toMatch(/data: \[DONE\]\n\n$/);
    expect(await proxy.exited).toBe(0);
    expect((await chainReader(stack).account(wallet.address)).escrowed).toBe(0);
    expect(proxy.output).not.toMatch(/"kind":"(wrong|unchecked|done)"/);
  });
});
