import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, it } from "vitest";
import { OPERATOR } from "../../../../scripts/local-stack/accounts.ts";
import { chainReader } from "../../../support/chain-reader.ts";
import { Visitor } from "../../support/visitor.ts";
import type { Person } from "./person.ts";

/** What the wallet can stop and take back, and what everybody sees. */
export function exitSteps(person: Person): void {
  it("sets a daily limit and a freeze that the chain enforces, and lifts them", async () => {
    const { visitor } = person;
    await visitor.go("/settings");
    await visitor.page.getByLabel("Freeze spending").check();
    await visitor.press("Save on chain");
    await visitor.sees("Limits are in force");
    await expect(person.complete(person.apiKey)).rejects.toMatchObject({ status: 403, code: "spending_frozen" });
    await visitor.page.getByLabel("Freeze spending").uncheck();
    await visitor.page.getByLabel("Daily limit").check();
    await visitor.page.getByLabel("Credits a day").fill("1");
    await visitor.press("Save on chain");
    await expect
      .poll(() => person.complete(person.apiKey).catch((error: { code: string }) => error.code), { timeout: 60_000 })
      .toBe("daily_limit_reached");
  });

  it("withdraws credits as tokens", async () => {
    const { visitor } = person;
    const chain = chainReader(person.stack);
    const before = await chain.held(person.account.address);
    await visitor.go("/fund");
    await visitor.page.getByLabel("Credits to withdraw").fill("50");
    await visitor.press("Withdraw");
    await visitor.sees("Withdrawn");
    expect((await chain.held(person.account.address)) - before).toBe(500_000n);
  });

  it("is shown every job by anyone's browser, without signing in", async () => {
    const stranger = await Visitor.open(person.browser, person.stack, privateKeyToAccount(generatePrivateKey()));
    await stranger.go("/explorer");
    await stranger.page.getByLabel("Transaction hash or job id").fill(person.jobId);
    await stranger.press("Look it up");
    await stranger.sees("Credits locked in escrow for a job");
    await stranger.sees(`${OPERATOR} (this service)`);
    expect(await stranger.page.getByText("Dispute…").count()).toBe(0);
    await stranger.page.locator("a[href*='/app/tx/']").first().click();
    await stranger.sees("Gas used");
    expect(stranger.complaints).toEqual([]);
    await stranger.close();
  });

  it("met no complaint of the browser on the way", () => {
    expect(person.visitor.complaints).toEqual([]);
  });
}
