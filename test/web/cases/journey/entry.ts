import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { OPERATOR } from "../../../../scripts/local-stack/accounts.ts";
import { chainReader } from "../../../support/chain-reader.ts";
import { type Person, PRICE } from "./person.ts";

const run = promisify(execFile);

/** Signs in, buys credits, gets a key and uses it. */
export function entrySteps(person: Person): void {
  it("signs in", async () => {
    const { visitor } = person;
    await visitor.signIn();
    await visitor.sees("No credits yet");
    expect(visitor.wallet.signed()).toEqual(["personal_sign"]);
  });

  it("buys 100 credits with one signature and one transaction", async () => {
    const { visitor } = person;
    await visitor.buyFirstCredits();
    expect(visitor.wallet.signed()).toEqual(["eth_signTypedData_v4", "eth_sendTransaction"]);
    // The figure follows the message by the time it takes to ask for it.
    await expect.poll(() => visitor.figure("Free credits"), { timeout: 60_000 }).toBe("100");
    expect(await chainReader(person.stack).account(person.account.address)).toMatchObject({
      free: 100,
      escrowed: 0,
      operator: OPERATOR,
    });
  });

  it("creates a key, which the openai SDK uses, and watches the job settle", async () => {
    const { visitor } = person;
    await visitor.go("/settings");
    await visitor.press("Create key");
    person.apiKey = await person.shownKey();
    expect(await visitor.findings()).toEqual([]);
    await visitor.press("I have stored it");
    expect(await visitor.page.content()).not.toContain(person.apiKey);
    await visitor.go("/");
    const settled = await person.complete(person.apiKey);
    person.answer = settled.text;
    person.jobId = settled.jobId;
    const row = visitor.page.getByRole("row").filter({ has: visitor.page.locator(`code[title="${person.jobId}"]`) });
    await row.getByText("settled").waitFor();
    expect(await row.getByRole("cell").allTextContents()).toContain(String(PRICE));
    await visitor.page.locator(".figure .number", { hasText: String(100 - PRICE) }).waitFor();
  });

  it("regenerates the key: the old one is refused at once, the curl command shown works", async () => {
    const { visitor } = person;
    await visitor.go("/settings");
    await visitor.press("Regenerate");
    await visitor.page.getByRole("dialog").getByRole("button", { name: "Regenerate" }).click();
    const fresh = await person.shownKey();
    expect(fresh).not.toBe(person.apiKey);
    await expect(person.complete(person.apiKey)).rejects.toMatchObject({ status: 401, code: "invalid_api_key" });
    person.apiKey = fresh;
    const curl = (await visitor.page.locator("pre", { hasText: fresh }).textContent()) as string;
    const { stdout } = await run("sh", ["-c", curl]);
    expect(JSON.parse(stdout).choices[0].message.content).toMatch(/./);
  });
}
