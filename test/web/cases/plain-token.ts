/** Buying credits where the stablecoin knows no permits (EIP-2612), in a browser. */
import type { Browser } from "playwright-core";
import { type Address, createTestClient, createWalletClient, type Hex, http, publicActions } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DEPLOYER_KEY, OPERATOR } from "../../../scripts/local-stack/accounts.ts";
import { chainReader } from "../../support/chain-reader.ts";
import { mined } from "../../support/mined.ts";
import type { TestStack } from "../../support/stack.ts";
import { testContract } from "../../support/test-contract.ts";
import { giveGas } from "../support/gas.ts";
import { Visitor } from "../support/visitor.ts";

export function plainTokenTests(given: () => { stack: TestStack; browser: Browser }): void {
  const account = privateKeyToAccount(generatePrivateKey());
  let stack: TestStack;
  let visitor: Visitor;
  let restore: () => Promise<void> = async () => {};

  beforeAll(async () => {
    const { browser } = given();
    ({ stack } = given());
    restore = await putPlainToken(stack);
    await giveGas(stack, account.address);
    visitor = await Visitor.open(browser, stack, account);
  });
  afterAll(async () => {
    await visitor?.close();
    await restore();
  });

  it("takes an approval and a deposit, and is told as done after both", async () => {
    await visitor.signIn();
    visitor.wallet.nodeMs = 300;
    await visitor.buyFirstCredits();
    visitor.wallet.nodeMs = 0;
    expect(visitor.wallet.signed()).toEqual(["eth_sendTransaction", "eth_sendTransaction"]);
    expect(await chainReader(stack).account(account.address)).toMatchObject({ free: 100, operator: OPERATOR });
  });

  it("leaves nothing approved", async () => {
    expect(await chainReader(stack).allowance(account.address)).toBe(0n);
  });
}

/** Puts the code of a token without permits in the place of the stack's, whose storage it can read; returns how to put the old one back. */
async function putPlainToken(stack: TestStack): Promise<() => Promise<void>> {
  const transport = http(stack.info.rpc_url);
  const chain = createTestClient({ mode: "anvil", transport }).extend(publicActions);
  const deployer = createWalletClient({ account: privateKeyToAccount(DEPLOYER_KEY), transport });
  const compiled = testContract("PermitlessStablecoin");
  const { contractAddress } = await mined(chain as never, await deployer.deployContract({ ...compiled, chain: null }));
  const token = stack.info.contracts["Stablecoin"] as Address;
  const codeOf = async (address: Address): Promise<Hex> => (await chain.getCode({ address })) ?? "0x";
  const before = await codeOf(token);
  await chain.setCode({ address: token, bytecode: await codeOf(contractAddress as Address) });
  return () => chain.setCode({ address: token, bytecode: before });
}
