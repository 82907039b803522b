/** Signing in with a contract's signature runs a client's code on the node: how much of it, and how often. */
import { decodeFunctionData, type Hex, hashMessage, parseAbi, serializeErc6492Signature } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RpcError, RpcUnreachable } from "../../../../api/chain/rpc.ts";
import { ContractSignatures } from "../../../../web/server/sign-in.ts";

const WALLET: Hex = `0x${"c0".repeat(20)}`;
const signIn = { message: "Sign in", signature: "0xdead" as Hex, from: "192.0.2.1" };
/** As the service issues them: good for ten minutes. */
const nonce = (i: number) => (Math.floor(Date.now() / 1000) + 600).toString(16) + i.toString(16).padStart(56, "0");

/** What a contract answers to a good signature (ERC-1271), and the code that deploys one first (ERC-6492). */
const YES: Hex = `0x1626ba7e${"0".repeat(56)}`;
const YES_DEPLOYED: Hex = `0x${"0".repeat(63)}1`;
const deploying = serializeErc6492Signature({ address: WALLET, data: "0x12", signature: "0xdead" });

type Call = { to?: Hex; gas: Hex; data: Hex };
let calls: Call[];
let answer: () => Promise<Hex>;
let signatures: ContractSignatures;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
  calls = [];
  answer = async () => YES;
  const request = async (_method: string, [call]: readonly unknown[]) => {
    calls.push(call as Call);
    return answer();
  };
  signatures = new ContractSignatures({ request } as never);
});
afterEach(() => void vi.useRealTimers());

describe("a contract's signature", () => {
  it("is asked for with little gas", async () => {
    expect(await signatures.verify(WALLET, nonce(1), signIn)).toBe(true);
    expect(Number(calls[0]?.gas)).toBeLessThanOrEqual(3_000_000);
  });

  it.each<[string, Hex]>([
    ["of some bytes", "0xdead"],
    ["that is empty, as a Safe's is", "0x"],
    ["of 64 bytes", `0x${"ab".repeat(64)}`],
  ])("%s is the contract's own to judge", async (_, signature) => {
    expect(await signatures.verify(WALLET, nonce(1), { ...signIn, signature })).toBe(true);
    expect(calls[0]?.to).toBe(WALLET);
    const abi = parseAbi(["function isValidSignature(bytes32, bytes)"]);
    const { args } = decodeFunctionData({ abi, data: calls[0]?.data as Hex });
    expect(args).toEqual([hashMessage(signIn.message), signature]);
    answer = async () => YES_DEPLOYED;
    expect(await signatures.verify(WALLET, nonce(2), { ...signIn, signature })).toBe(false);
  });

  it("of a contract that is not there yet is judged where it would be", async () => {
    answer = async () => YES_DEPLOYED;
    expect(await signatures.verify(WALLET, nonce(1), { ...signIn, signature: deploying })).toBe(true);
    expect(calls[0]).not.toHaveProperty("to");
  });

  it.each<[string, () => Promise<Hex>]>([
    ["the code says no", async () => "0x00"],
    ["the code says nothing", async () => "0x"],
    ["the code fails or uses up its gas", () => Promise.reject(new RpcError("eth_call", -32_000, "out of gas", null))],
  ])("is none when %s", async (_when, said) => {
    answer = said;
    expect(await signatures.verify(WALLET, nonce(1), signIn)).toBe(false);
  });

  it("is unknown when the node does not answer", async () => {
    answer = () => Promise.reject(new RpcUnreachable("eth_call", new Error("late")));
    await expect(signatures.verify(WALLET, nonce(1), signIn)).rejects.toBeInstanceOf(RpcUnreachable);
  });
});

describe("tries", () => {
  it("are five a nonce", async () => {
    for (let i = 0; i < 5; i++) await signatures.verify(WALLET, nonce(1), signIn);
    await expect(signatures.verify(WALLET, nonce(1), signIn)).rejects.toMatchObject({ code: "nonce_used" });
    expect(await signatures.verify(WALLET, nonce(2), signIn)).toBe(true);
    expect(calls).toHaveLength(6);
  });

  it("are twenty a minute for a client, and others are not affected", async () => {
    for (let i = 0; i < 20; i++) await signatures.verify(WALLET, nonce(i), signIn);
    await expect(signatures.verify(WALLET, nonce(20), signIn)).rejects.toMatchObject({
      code: "rate_limited",
      details: { retry_after: 60 },
    });
    expect(await signatures.verify(WALLET, nonce(21), { ...signIn, from: "192.0.2.2" })).toBe(true);
    vi.setSystemTime(Date.now() + 60_000);
    expect(await signatures.verify(WALLET, nonce(22), signIn)).toBe(true);
  });

  it("are two at a time, and of more than can wait some are sent away", async () => {
    let running = 0;
    let most = 0;
    answer = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return YES;
    };
    const tries = Array.from({ length: 40 }, (_, i) =>
      signatures.verify(WALLET, nonce(i), { ...signIn, from: `${i}` }),
    );
    const results = await Promise.allSettled(tries);
    expect(most).toBe(2);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(22);
  });
});
