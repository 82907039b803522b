/** What the contract keeps about a wallet's spending: its operator, its authorization key and its limits. */
import { createWalletClient, type Hex, http } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect } from "vitest";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { OPERATOR, provideTokens } from "../../scripts/dev/wallets.ts";
import { eventually } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { richAccount } from "../support/gas.ts";
import { mined } from "../support/mined.ts";
import { it } from "./support/browser.ts";
import type { Visitor } from "./support/visitor.ts";

/** An operator that only an account has which was read after the gate opened. */
const READ_LATER = 77;

describe("the settings of an account", () => {
  const account = privateKeyToAccount(generatePrivateKey());
  let visitor: Visitor;
  let chain: ChainReader;
  const stored = () => chain.account(account.address);

  it.beforeAll(async ({ stack, open }) => {
    chain = chainReader(stack);
    await provideTokens(stack.info, { funder: await richAccount(stack), owner: account, credits: 300 });
    // Bought elsewhere, for no operator.
    const transport = http(stack.info.rpc_url);
    const hash = await createWalletClient({ account, transport }).writeContract({
      address: chain.escrow,
      abi: inferenceEscrowAbi,
      functionName: "deposit",
      args: [100, 0],
      chain: null,
    });
    await mined(chain.client, hash);
    visitor = await open(account);
    await visitor.signIn();
  });

  it("says that no service is chosen, and chooses this one", async () => {
    await visitor.go("/");
    await visitor.sees("Your account has chosen no service");
    await visitor.sees(/refuses your requests until you choose it/);
    expect(await visitor.findings()).toEqual([]);
    await visitor.press("Choose this service");
    await visitor.sees("This service is chosen");
    await visitor.page.getByText("Your account has chosen no service").waitFor({ state: "detached" });
    expect(await stored()).toMatchObject({ operator: OPERATOR });
  });

  it("leaves the operator, and comes back with a deposit", async () => {
    await visitor.go("/settings");
    await visitor.press("Choose none");
    await visitor.sees("None is chosen.");
    expect(await stored()).toMatchObject({ operator: 0 });
    await visitor.go("/fund");
    await visitor.sees(/It also chooses this service/);
    await visitor.press("Deposit");
    await visitor.sees("Credits added");
    await visitor.page.getByText("Your account has chosen no service").waitFor({ state: "detached" });
    expect(await stored()).toMatchObject({ operator: OPERATOR });
  });

  it("sets an authorization key and removes it", async () => {
    const key = privateKeyToAccount(generatePrivateKey()).address;
    const current = () =>
      chain.client.readContract({
        address: chain.escrow,
        abi: inferenceEscrowAbi,
        functionName: "authorizationKeyOf",
        args: [account.address],
      });
    await visitor.go("/settings");
    const input = visitor.page.getByLabel("Address of the key");
    await input.fill(key.toLowerCase().replace("0x", ""));
    await visitor.sees("Not an address");
    await input.fill(key);
    await visitor.press("Set the key");
    await visitor.sees("The key is in force");
    await visitor.sees("In force:");
    expect(await current()).toBe(key);

    // Or a key that the browser makes, whose private key only the visitor sees.
    await visitor.press("Make a key");
    const secret = await visitor.page.getByText(/^0x[0-9a-f]{64}$/).textContent();
    await visitor.press("Set the key");
    const made = privateKeyToAccount(secret as Hex).address;
    await eventually(current, (address) => address === made);
    await visitor.press("Remove the key");
    await visitor.sees("No key is needed any more");
    expect(Number(await current())).toBe(0);
  });

  it("says what a wallet cannot set before its first deposit", async ({ open }) => {
    const newcomer = await open(privateKeyToAccount(generatePrivateKey()));
    await newcomer.signIn();
    await newcomer.go("/settings");
    for (const what of ["Limits", "A key", "A dispute key"]) {
      await newcomer.sees(`${what} can be set once the wallet has made its first deposit.`);
    }
  });

  it("names a dispute key with a bound, and revokes it", async () => {
    const key = privateKeyToAccount(generatePrivateKey()).address;
    const current = async () => {
      const args = [account.address] as const;
      const call = { address: chain.escrow, abi: inferenceEscrowAbi, functionName: "disputeKeyOf", args } as const;
      const [address, , mostOpen] = await chain.client.readContract(call);
      return [address, mostOpen];
    };
    await visitor.go("/settings");
    await visitor.page.getByRole("textbox", { name: "Dispute key" }).fill(key);
    const bound = visitor.page.getByLabel("Disputes open at a time");
    await bound.fill("256");
    await visitor.sees("A whole number, at most 255");
    await bound.fill("3");
    await visitor.press("Name the dispute key");
    await visitor.sees("with 0 of 3 disputes open");
    expect(await current()).toEqual([key, 3]);
    await visitor.press("Revoke the dispute key");
    await visitor.sees("No key may dispute any more");
    expect((await current()).map(Number)).toEqual([0, 0]);
  });

  it("keeps what is entered in the limits until that is saved as well", async () => {
    const { page } = visitor;
    await visitor.go("/settings");
    await page.getByLabel("Freeze spending").check();

    // What is read of the account from now on arrives when the test says so.
    const gate = Promise.withResolvers<void>();
    let opened = false;
    await page.route("**/app/api/account", async (route) => {
      const later = opened;
      await gate.promise;
      const read = (await (await route.fetch()).json()) as object;
      await route.fulfill({ json: later ? { ...read, operator: READ_LATER } : read });
    });
    await visitor.press("Save on chain");
    await visitor.sees("Limits are in force");
    await page.getByLabel("Freeze spending").uncheck();
    await page.getByLabel("Daily limit").check();
    await page.getByLabel("Credits a day").fill("7");
    opened = true;
    gate.resolve();
    await visitor.sees(`Operator ${READ_LATER}`);

    expect(await page.getByLabel("Credits a day").inputValue()).toBe("7");
    expect(await page.getByLabel("Freeze spending").isChecked()).toBe(false);
    await visitor.press("Save on chain");
    await expect.poll(() => stored(), { timeout: 60_000 }).toMatchObject({ flags: 2, dailyLimit: 7 });
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });
});
