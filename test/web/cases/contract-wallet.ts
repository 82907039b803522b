/** A person whose wallet is a contract, as multisignature and smart wallets are, in a browser. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { OPERATOR } from "../../../scripts/local-stack/accounts.ts";
import { chainReader } from "../../support/chain-reader.ts";
import type { TestStack } from "../../support/stack.ts";
import { type ContractWallet, deployContractWallet } from "../support/contract-wallet.ts";
import { Visitor } from "../support/visitor.ts";

export function contractWalletTests(given: () => { stack: TestStack; browser: Browser }): void {
  let stack: TestStack;
  let wallet: ContractWallet;
  let visitor: Visitor;

  beforeAll(async () => {
    const { browser } = given();
    ({ stack } = given());
    wallet = await deployContractWallet(stack);
    visitor = await Visitor.open(browser, stack, wallet.account);
    visitor.wallet.sender = wallet.send;
  });
  afterAll(() => visitor?.close());

  it("signs in, and buys credits with two transactions: nobody is asked for a permit that the token would refuse", async () => {
    await visitor.signIn();
    await visitor.buyFirstCredits();
    expect(visitor.wallet.signed()).toEqual(["eth_sendTransaction", "eth_sendTransaction"]);
    await expect.poll(() => visitor.figure("Free credits"), { timeout: 30_000 }).toBe("100");
    expect(await chainReader(stack).account(wallet.account.address)).toMatchObject({ free: 100, operator: OPERATOR });
  });

  it("withdraws to where its owner says", async () => {
    await visitor.page.getByLabel("Credits to withdraw").fill("40");
    await visitor.press("Withdraw");
    await expect.poll(() => visitor.figure("Free credits"), { timeout: 30_000 }).toBe("60");
    expect(await chainReader(stack).account(wallet.account.address)).toMatchObject({ free: 60, escrowed: 0 });
  });
}
