/** What the owner of workers does with its wallet: registering, stake, unbonding, settings, and what is owed. */
import {
  type Address,
  createTestClient,
  createWalletClient,
  encodeAbiParameters,
  erc20Abi,
  getContract,
  type Hex,
  http,
  keccak256,
  parseEther,
  toHex,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect } from "vitest";
import { DEV_OWNER } from "../../operator/register-workers.ts";
import { workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { chat } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { Client, openStore } from "../support/client.ts";
import { giveGas } from "../support/gas.ts";
import { mined } from "../support/mined.ts";
import { it, type WebStack } from "./support/browser.ts";
import type { Visitor } from "./support/visitor.ts";
import { MODEL as USED_MODEL } from "./support/web-stack.ts";

/** Hosted by no worker of the suite, and asked for by no other test. */
const MODEL = "mistral-7b-instruct";
const SVC = 1_000_000n;

/** Gives an address SVC of the development chain's supply. */
async function giveSvc(stack: WebStack, to: Address, amount: string): Promise<void> {
  const transport = http(stack.info.rpc_url);
  const account = privateKeyToAccount(DEV_OWNER);
  const hash = await createWalletClient({ account, transport }).writeContract({
    address: stack.info.contracts["ServiceToken"] as Address,
    abi: erc20Abi,
    functionName: "transfer",
    args: [to, parseEther(amount)],
    chain: null,
  });
  await mined(chainReader(stack).client, hash);
}

/** Lets the unbonding of a worker be over, for it alone: the chain's time is everybody's. */
async function endUnbonding(stack: WebStack, signer: Address, unbondsAt: number): Promise<void> {
  const address = stack.info.contracts["WorkerRegistry"] as Address;
  const chain = createTestClient({ mode: "anvil", transport: http(stack.info.rpc_url) });
  // The mapping of workers is the registry's slot 6; the second slot of a worker is sequence, unbondsAt and owner.
  const slot = keccak256(encodeAbiParameters([{ type: "address" }, { type: "uint256" }], [signer, 6n]));
  const index = toHex(BigInt(slot) + 1n);
  const word = BigInt((await chainReader(stack).client.getStorageAt({ address, slot: index })) as Hex);
  const value = (word & ~(0xffffffffffn << 160n)) | (BigInt(unbondsAt) << 160n);
  await chain.setStorageAt({ address, index, value: toHex(value, { size: 32 }) });
}

describe("the desk of a worker's owner", () => {
  const owner = privateKeyToAccount(generatePrivateKey());
  let visitor: Visitor;
  let chain: ChainReader;
  let number: number;

  const registry = (stack: WebStack) =>
    getContract({
      address: stack.info.contracts["WorkerRegistry"] as Address,
      abi: workerRegistryAbi,
      client: chain.client,
    });
  const registered = (stack: WebStack) => registry(stack).read.workerAt([number]);
  const held = (stack: WebStack, of: Address) =>
    chain.client.readContract({
      address: stack.info.contracts["ServiceToken"] as Address,
      abi: erc20Abi,
      functionName: "balanceOf",
      args: [of],
    });

  it.beforeAll(async ({ stack, open }) => {
    chain = chainReader(stack);
    await giveGas(stack, owner.address, "5");
    await giveSvc(stack, owner.address, "50000");
    visitor = await open(owner);
    await visitor.signIn();
  });

  it("registers a worker that the wallet owns, with a key made for it", async ({ stack }) => {
    const minimum = await registry(stack).read.minimumStake();
    await visitor.go("/my-workers");
    await visitor.sees("Your wallet has no worker");
    await visitor.press("Register…");
    await visitor.page.getByRole("checkbox", { name: MODEL }).check();
    await visitor.page.getByLabel("Gateways reach it at").fill("http://127.0.0.1:9");
    await visitor.page.getByLabel("Stake", { exact: true }).fill("50001");
    await visitor.sees("Your wallet holds 50,000 SVC.");
    await visitor.page.getByLabel("Stake", { exact: true }).fill(String(minimum / SVC));
    await visitor.press("Make the worker's key");
    const secret = (await visitor.page.getByText(/^0x[0-9a-f]{64}$/).textContent()) as Hex;
    expect(await visitor.findings()).toEqual([]);
    visitor.wallet.asked.length = 0;
    await visitor.press("Register the worker");
    await visitor.sees("The worker is registered");
    expect(visitor.wallet.signed()).toEqual(["eth_sendTransaction", "eth_sendTransaction"]);

    const link = visitor.page.getByRole("cell", { name: /^Worker \d+$/ });
    number = Number((await link.textContent())?.replace("Worker ", ""));
    expect(await registered(stack)).toMatchObject({
      signer: privateKeyToAccount(secret).address,
      owner: owner.address,
      payout: owner.address,
      stake: minimum,
      endpoint: "http://127.0.0.1:9",
      active: true,
    });
    await link.getByRole("link").click();
    await visitor.page.getByRole("heading", { name: `Worker ${number}` }).waitFor();
  });

  it("adds stake by keyboard alone", async ({ stack }) => {
    const before = await registered(stack);
    const focused = () => visitor.page.evaluate("document.activeElement?.getAttribute('name')");
    await visitor.page.getByLabel("Stake to add").waitFor();
    await visitor.page.getByRole("heading", { level: 1 }).focus();
    for (let presses = 0; (await focused()) !== "stake"; presses += 1) {
      expect(presses).toBeLessThan(40);
      await visitor.page.keyboard.press("Tab");
    }
    await visitor.page.keyboard.type("250.5");
    await visitor.page.keyboard.press("Enter");
    await visitor.sees("Stake added");
    expect((await registered(stack)).stake).toBe(before.stake + 250_500_000n);
    await visitor.page.getByLabel("Stake to add").fill("60000");
    await visitor.sees(/^Your wallet holds [\d,.]+ SVC\.$/);
    expect(await visitor.page.getByRole("button", { name: "Add stake" }).isDisabled()).toBe(true);
  });

  it("changes payout, endpoint and models", async ({ stack }) => {
    const payout = privateKeyToAccount(generatePrivateKey()).address;
    await visitor.page.getByLabel("Paid to").fill(payout.slice(0, -1));
    await visitor.sees("Not an address");
    await visitor.page.getByLabel("Paid to").fill(payout);
    await visitor.press("Change the payout");
    await visitor.sees("The payout is changed");
    await visitor.page.getByLabel("Gateways reach it at").fill("http://127.0.0.1:10");
    await visitor.press("Change the endpoint");
    await visitor.sees("The endpoint is changed");
    const boxes = visitor.page.getByRole("group", { name: "Hosts" }).getByRole("checkbox");
    await boxes.nth(0).check();
    await visitor.page.getByRole("checkbox", { name: MODEL }).uncheck();
    await visitor.press("Change the models");
    // Two transactions: it is told when both are mined.
    await visitor.sees("The models are changed");
    expect(await registered(stack)).toMatchObject({ payout, endpoint: "http://127.0.0.1:10", models: [1] });
    await boxes.nth(0).uncheck();
    await visitor.press("Change the models");
    await expect.poll(async () => (await registered(stack)).models, { timeout: 60_000 }).toEqual([]);
  });

  it("unbonds, says when the stake is free, and takes it back", async ({ stack }) => {
    await visitor.press("Unbond…");
    await visitor.page.getByRole("dialog").getByRole("button", { name: "Unbond", exact: true }).click();
    await visitor.sees(/^Free in /);
    await visitor.sees(/From .+ you can withdraw/);
    expect((await registered(stack)).unbondsAt).toBeGreaterThan(0);
    expect(await visitor.page.getByRole("button", { name: /^Withdraw/ }).isDisabled()).toBe(true);
    expect(await visitor.findings()).toEqual([]);
    await visitor.press("Cancel unbonding");
    await visitor.page.getByLabel("Stake to add").waitFor();
    expect(await registered(stack)).toMatchObject({ unbondsAt: 0, active: true });
  });

  it("says when it is too early if the page's clock is ahead of the chain's", async ({ stack }) => {
    await visitor.press("Unbond…");
    await visitor.page.getByRole("dialog").getByRole("button", { name: "Unbond", exact: true }).click();
    await visitor.sees(/^Free in /);
    const { unbondsAt } = await registered(stack);
    await visitor.page.clock.setFixedTime((unbondsAt + 60) * 1_000);
    await visitor.press(/^Withdraw/);
    await visitor.sees(/It is too early: the stake can be withdrawn from/);
    await visitor.page.clock.setSystemTime(Date.now());
  });

  it("withdraws the stake to another address once it is free", async ({ stack }) => {
    const receiver = privateKeyToAccount(generatePrivateKey()).address;
    const { signer, stake } = await registered(stack);
    await endUnbonding(stack, signer, Math.floor(Date.now() / 1_000) - 5);
    await visitor.go(`/my-workers/${number}`);
    await visitor.sees("Your stake is free");
    await visitor.page.getByLabel("Withdraw to").fill(receiver);
    await visitor.press(/^Withdraw/);
    await visitor.page.getByLabel("Stake to add").waitFor();
    expect(await held(stack, receiver)).toBe(stake * 10n ** 12n);
    expect(await registered(stack)).toMatchObject({ stake: 0n, unbondsAt: 0, active: false });
    await visitor.sees("It takes no jobs");
  });

  it("collects payouts and debts, and says if nothing is left", async () => {
    const { page } = visitor;
    const job = `job_${"0".repeat(31)}1`;
    await page.route(/\/app\/api\/(workers|explorer\/addresses)\/./, async (route) => {
      const read = (await (await route.fetch()).json()) as object;
      await route.fulfill({ json: { ...read, claimable_units: "1500000", owed: [{ job_id: job, units: 36_000 }] } });
    });
    await visitor.go(`/my-workers/${number}`);
    await visitor.press("Pay 1.50 USDG to it");
    await visitor.sees("Nothing waits to be claimed any more.");
    await visitor.sees(/0\.036 USDG for/);
    await visitor.press("Collect");
    await visitor.sees("The treasury owes nothing for this job any more.");
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  it("shows what the chain paid a worker for its jobs", async ({ stack, open }) => {
    const database = openStore(stack);
    const client = await Client.funded(stack, database, 100);
    await database.end();
    const answer = await client.api.post("/v1/chat/completions", chat(USED_MODEL, "Say hello."));
    expect(answer.status).toBe(200);
    const [worker] = stack.workers;
    const paid = () => chain.held(privateKeyToAccount(worker?.privateKey as Hex).address);
    const reader = await open(privateKeyToAccount(DEV_OWNER));
    await reader.signIn();
    await reader.go("/my-workers/1");
    // Other files have jobs of this worker settled meanwhile.
    await expect
      .poll(async () => Number(await reader.figure("Ever")) * 1e6 - Number(await paid()), { timeout: 60_000 })
      .toBeCloseTo(0);
    expect(await paid()).toBeGreaterThan(0n);
    await reader.go("/workers/1");
    await reader.sees("Earned ever");
    await reader.page.getByRole("link", { name: "Manage" }).click();
    await reader.page.getByLabel("Stake to add").waitFor();
    await reader.close();
  });

  it("changes nothing with another account of the wallet, and shows no other's worker", async () => {
    await visitor.go(`/my-workers/${number}`);
    await visitor.page.getByLabel("Paid to").waitFor();
    await visitor.wallet.selectAccount(privateKeyToAccount(generatePrivateKey()));
    await visitor.sees("Another account is selected in your wallet");
    await visitor.page.getByLabel("Gateways reach it at").fill("http://127.0.0.1:11");
    await visitor.press("Change the endpoint");
    await visitor.sees(/^The wallet uses 0x/);
    await visitor.wallet.selectAccount(owner);
    await visitor.go("/my-workers/1");
    await visitor.sees("This worker is not yours");
  });

  it("fits phone, tablet and screen by day and night, and axe finds nothing", async () => {
    for (const path of ["/my-workers", `/my-workers/${number}`]) {
      await visitor.go(path);
      await visitor.sees(/^Worker \d+$/);
      if (path.endsWith(`/${number}`)) await visitor.page.getByRole("region", { name: "Tokens a second" }).waitFor();
      await visitor.page.locator(".skeleton").first().waitFor({ state: "detached" });
      expect(await visitor.flaws(), path).toEqual([]);
    }
  });
});
