/** A transaction that its owner sends again, cancels or replaces in the wallet: another one with the same nonce is mined. */
import type { Browser } from "playwright-core";
import { type Address, createPublicClient, createWalletClient, type Hex, http } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { DEPLOYER_KEY } from "../../../scripts/local-stack/accounts.ts";
import { provideCredits } from "../../../scripts/local-stack/funding.ts";
import { rpc } from "../../../scripts/local-stack/rpc.ts";
import { chainReader } from "../../support/chain-reader.ts";
import type { TestStack } from "../../support/stack.ts";
import { Visitor } from "../support/visitor.ts";

type Instead = { to: Address; data?: Hex };

export function replacementTests(given: () => { stack: TestStack; browser: Browser }): void {
  const account = privateKeyToAccount(generatePrivateKey());
  let stack: TestStack;
  let visitor: Visitor;

  beforeAll(async () => {
    ({ stack } = given());
    await provideCredits(stack.info, { funder: privateKeyToAccount(DEPLOYER_KEY), owner: account, credits: 500 });
  });
  beforeEach(async () => {
    visitor = await Visitor.open(given().browser, stack, account);
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
  async function replace(credits: number, instead: (original: { to: Address; data: Hex }) => Instead): Promise<Hex> {
    await visitor.page.getByLabel("Credits to withdraw").fill(String(credits));
    await visitor.press("Withdraw");
    await visitor.sees("Sent, waiting to be mined");
    // Only a page that has seen the first one can know that the second stands in its place.
    await expect.poll(() => visitor.wallet.read.size, { timeout: 60_000 }).toBe(1);
    const [hash] = visitor.wallet.read as Set<Hex>;
    const transport = http(stack.info.rpc_url);
    const original = await createPublicClient({ transport }).getTransaction({ hash: hash as Hex });
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
  const free = async () => (await chainReader(stack).account(account.address)).free;

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
    expect(await visitor.page.getByText("Withdrawn").count()).toBe(0);
    expect(await free()).toBe(before);
  });

  it("replaced by something else is not told as done", async () => {
    const by = await replace(10, () => ({ to: privateKeyToAccount(generatePrivateKey()).address }));
    await visitor.sees("Replaced in the wallet");
    await visitor.sees(by);
    expect(await visitor.page.getByText("Withdrawn").count()).toBe(0);
  });
}
