/** A person whose wallet is a contract, as multisignature and smart wallets are, in a browser. */
import { describe, expect } from "vitest";
import { OPERATOR } from "../../scripts/dev/wallets.ts";
import { chainReader } from "../support/chain-reader.ts";
import { it } from "./support/browser.ts";
import { type ContractWallet, deployContractWallet } from "./support/contract-wallet.ts";
import type { Visitor } from "./support/visitor.ts";

describe("a wallet that is a contract", () => {
  let wallet: ContractWallet;
  let visitor: Visitor;

  it.beforeAll(async ({ stack, open }) => {
    wallet = await deployContractWallet(stack);
    visitor = await open(wallet.account);
    visitor.wallet.sender = wallet.send;
  });

  it("signs in, buys credits and limits a day with three transactions", async ({ stack }) => {
    await visitor.signIn();
    await visitor.buyFirstCredits();
    expect(visitor.wallet.signed()).toEqual(Array(3).fill("eth_sendTransaction"));
    await expect.poll(() => visitor.figure("Free credits"), { timeout: 60_000 }).toBe("100");
    expect(await chainReader(stack).account(wallet.account.address)).toMatchObject({ free: 100, operator: OPERATOR });
  });

  it("withdraws to where its owner says", async ({ stack }) => {
    await visitor.page.getByLabel("Credits to withdraw").fill("40");
    await visitor.press("Withdraw");
    await expect.poll(() => visitor.figure("Free credits"), { timeout: 60_000 }).toBe("60");
    expect(await chainReader(stack).account(wallet.account.address)).toMatchObject({ free: 60, escrowed: 0 });
  });
});
