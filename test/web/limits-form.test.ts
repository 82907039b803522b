/** The form of the spending limits while the account is read anew, as it is every few seconds and after each transaction. */
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect } from "vitest";
import { provideCredits } from "../../scripts/dev/wallets.ts";
import { chainReader } from "../support/chain-reader.ts";
import { richAccount } from "../support/gas.ts";
import { describeInBrowser, it } from "./support/browser.ts";

/** An operator that only an account has which was read after the gate opened. */
const READ_LATER = 77;

describeInBrowser("the form of the limits", () => {
  const account = privateKeyToAccount(generatePrivateKey());
  it.beforeAll(async ({ stack }) => {
    await provideCredits(stack.info, { funder: await richAccount(stack), owner: account, credits: 100 });
  });

  it("keeps what is entered after a save until that is saved too", async ({ stack, open }) => {
    const visitor = await open(account);
    const { page } = visitor;
    await visitor.signIn();
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
    await expect
      .poll(() => chainReader(stack).account(account.address), { timeout: 60_000 })
      .toMatchObject({ flags: 2, dailyLimit: 7 });
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });
});
