/** A person's transactions on a chain whose blocks come late, and with a token that knows no permits: the stack is this file's own. */
import { type Address, createTestClient, createWalletClient, type Hex, http, publicActions } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterEach, expect } from "vitest";
import { rpc } from "../../scripts/dev/chain.ts";
import { OPERATOR, provideCredits } from "../../scripts/dev/wallets.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { giveGas, richAccount } from "../support/gas.ts";
import { mined } from "../support/mined.ts";
import { startTestStack } from "../support/stack.ts";
import { testContract } from "../support/test-contract.ts";
import { it as base, describeInBrowser, type WebStack } from "./support/browser.ts";
import type { Visitor } from "./support/visitor.ts";

// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures this one needs
const it = base.override("stack", async ({}, { onCleanup }) => {
  const stack = await startTestStack({ workers: [] });
  onCleanup(() => stack.remove());
  return stack;
});

describeInBrowser("a transaction that its owner sends again, cancels or replaces in the wallet", () => {
  const account = privateKeyToAccount(generatePrivateKey());
  let stack: WebStack;
  let chain: ChainReader;
  let visitor: Visitor;

  it.beforeAll(async ({ stack: own }) => {
    stack = own;
    chain = chainReader(stack);
    await provideCredits(stack.info, { funder: await richAccount(stack), owner: account, credits: 500 });
  });
  it.beforeEach(async ({ open }) => {
    visitor = await open(account);
    await visitor.signIn();
    await visitor.go("/fund");
    // From here on blocks are made when the test says so: a transaction can be replaced while it waits.
    await rpc(stack.info.rpc_url, "evm_setAutomine", [false]);
  });
  afterEach(async () => {
    await rpc(stack.info.rpc_url, "evm_setAutomine", [true]);
    // Whatever others have sent meanwhile.
    await rpc(stack.info.rpc_url, "evm_mine");
    await visitor.close();
  });

  /** Withdraws, puts another transaction in the place of that one, and returns its hash. */
  async function replace(
    credits: number,
    instead: (original: { to: Address; data: Hex }) => { to: Address; data?: Hex },
  ): Promise<Hex> {
    await visitor.page.getByLabel("Credits to withdraw").fill(String(credits));
    await visitor.press("Withdraw");
    await visitor.sees("Sent, waiting to be mined");
    // Only a page that has seen the first one can know that the second stands in its place.
    await expect.poll(() => visitor.wallet.read.size, { timeout: 60_000 }).toBe(1);
    const [hash] = visitor.wallet.read as Set<Hex>;
    const transport = http(stack.info.rpc_url);
    const original = await chain.client.getTransaction({ hash: hash as Hex });
    const wallet = createWalletClient({ account, transport });
    const by = await wallet.sendTransaction({
      ...instead({ to: original.to as Address, data: original.input }),
      nonce: original.nonce,
      gas: original.gas,
      maxFeePerGas: (original.maxFeePerGas ?? 0n) * 2n,
      maxPriorityFeePerGas: (original.maxPriorityFeePerGas ?? 0n) * 2n,
      chain: null,
    });
    await rpc(stack.info.rpc_url, "evm_mine");
    return by;
  }
  const free = async () => (await chain.account(account.address)).free;

  it("sent again with a higher fee is done, under its new hash", async () => {
    const before = await free();
    const by = await replace(10, (original) => original);
    await visitor.sees("Withdrawn");
    await visitor.page.locator(".action-status a").first().waitFor();
    expect(await visitor.page.locator(".action-status a").first().getAttribute("href")).toContain(by);
    expect(await free()).toBe(before - 10);
  });

  it("cancelled is not told as done", async () => {
    const before = await free();
    const by = await replace(10, () => ({ to: account.address }));
    await visitor.sees("Cancelled in the wallet");
    await visitor.sees(by);
    expect(await visitor.page.locator(".action-status", { hasText: "Withdrawn" }).count()).toBe(0);
    expect(await free()).toBe(before);
  });

  it("replaced by something else is not told as done", async () => {
    const by = await replace(10, () => ({ to: privateKeyToAccount(generatePrivateKey()).address }));
    await visitor.sees("Replaced in the wallet");
    await visitor.sees(by);
    expect(await visitor.page.locator(".action-status", { hasText: "Withdrawn" }).count()).toBe(0);
  });
});

describeInBrowser("a stablecoin without permits", () => {
  it("takes an approval and a deposit, is told as done after both, and leaves nothing approved", async ({
    stack,
    open,
  }) => {
    await putPlainToken(stack);
    const account = privateKeyToAccount(generatePrivateKey());
    await giveGas(stack, account.address);
    const visitor = await open(account);
    await visitor.signIn();
    visitor.wallet.nodeMs = 300;
    await visitor.buyFirstCredits();
    expect(visitor.wallet.signed()).toEqual(["eth_sendTransaction", "eth_sendTransaction"]);
    const chain = chainReader(stack);
    expect(await chain.account(account.address)).toMatchObject({ free: 100, operator: OPERATOR });
    expect(await chain.allowance(account.address)).toBe(0n);
  });
});

/** Puts the code of a token without permits in the place of the stack's, whose storage it can read. */
async function putPlainToken(stack: WebStack): Promise<void> {
  const transport = http(stack.info.rpc_url);
  const chain = createTestClient({ mode: "anvil", transport }).extend(publicActions);
  const deployer = createWalletClient({ account: await richAccount(stack), transport });
  const compiled = testContract("PermitlessStablecoin");
  const { contractAddress } = await mined(chain as never, await deployer.deployContract({ ...compiled, chain: null }));
  const bytecode = (await chain.getCode({ address: contractAddress as Address })) ?? "0x";
  await chain.setCode({ address: stack.info.contracts["Stablecoin"] as Address, bytecode });
}
