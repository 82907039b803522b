/** A person's way through the application, in a browser with a wallet, against the whole service. */
import OpenAI from "openai";
import type { Browser } from "playwright-core";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { chainReader } from "../../support/chain-reader.ts";
import { openStore } from "../../support/client.ts";
import { Receiver } from "../../support/receiver.ts";
import type { TestStack } from "../../support/stack.ts";
import { giveGas } from "../support/gas.ts";
import { Visitor } from "../support/visitor.ts";

const MODEL = "qwen3-1.7b";
/** What one short request to it costs. */
const PRICE = 2;

export function journeyTests(given: () => { stack: TestStack; browser: Browser }): void {
  const account = privateKeyToAccount(generatePrivateKey());
  let stack: TestStack;
  let browser: Browser;
  let visitor: Visitor;
  let receiver: Receiver;
  let apiKey = "";
  let answer = "";
  let jobId = "";

  beforeAll(async () => {
    ({ stack, browser } = given());
    receiver = await Receiver.open();
    await giveGas(stack, account.address);
    visitor = await Visitor.open(browser, stack, account);
  });
  afterAll(async () => {
    await visitor?.close();
    receiver?.close();
  });

  // Each step builds on the ones before it.
  beforeEach(({ task, skip }) => {
    skip(task.suite?.tasks.some((step) => step.result?.state === "fail") ?? false, "an earlier step failed");
  });

  /** Asks for a completion with the stock SDK; returns its text and its job. */
  async function complete(key: string): Promise<{ text: string; jobId: string }> {
    const openai = new OpenAI({ baseURL: `${stack.info.base_url}/v1`, apiKey: key, maxRetries: 0 });
    const reply = await openai.chat.completions.create({
      model: MODEL,
      messages: [{ role: "user", content: "Say hello." }],
    });
    return { text: reply.choices[0]?.message.content ?? "", jobId: reply.id.replace("chatcmpl-", "") };
  }

  const shownKey = async () => (await visitor.page.getByTestId("api-key").textContent()) ?? "";

  it("signs in", async () => {
    await visitor.signIn();
    await visitor.sees("No credits yet");
    expect(visitor.wallet.signed()).toEqual(["personal_sign"]);
  });

  it("buys 100 credits with one signature and one transaction", async () => {
    await visitor.page.getByRole("link", { name: "Fund your account" }).click();
    await visitor.press(/^Get .* test USDG$/);
    await visitor.sees("Test tokens are in your wallet");
    visitor.wallet.asked.length = 0;
    await visitor.press("Deposit");
    await visitor.sees("Credits added");
    expect(visitor.wallet.signed()).toEqual(["eth_signTypedData_v4", "eth_sendTransaction"]);
    expect(await visitor.figure("Free credits")).toBe("100");
    expect(await chainReader(stack).account(account.address)).toMatchObject({ free: 100, escrowed: 0 });
  });

  it("creates a key, which the openai SDK uses, and watches the job settle", async () => {
    await visitor.go("/settings");
    await visitor.press("Create key");
    apiKey = await shownKey();
    expect(await visitor.findings()).toEqual([]);
    await visitor.press("I have stored it");
    expect(await visitor.page.content()).not.toContain(apiKey);
    await visitor.go("/");
    ({ text: answer, jobId } = await complete(apiKey));
    const row = visitor.page.getByRole("row").filter({ has: visitor.page.locator(`code[title="${jobId}"]`) });
    await row.getByText("settled").waitFor();
    expect(await row.getByRole("cell").allTextContents()).toContain(String(PRICE));
    await visitor.page.locator(".figure .number", { hasText: String(100 - PRICE) }).waitFor();
  });

  it("regenerates the key: the old one is refused at once", async () => {
    await visitor.go("/settings");
    await visitor.press("Regenerate");
    await visitor.page.getByRole("dialog").getByRole("button", { name: "Regenerate" }).click();
    const fresh = await shownKey();
    expect(fresh).not.toBe(apiKey);
    await expect(complete(apiKey)).rejects.toMatchObject({ status: 401, code: "invalid_api_key" });
    apiKey = fresh;
    await complete(apiKey);
  });

  it("creates a webhook, sees a failed delivery and replays it", async () => {
    receiver.behave("/hook", (response, nth) =>
      response.writeHead(nth === 1 ? 500 : 200).end(nth === 1 ? "not now" : "thanks"),
    );
    await visitor.go("/webhooks");
    await visitor.press("New webhook");
    await visitor.page.getByLabel("Endpoint").fill(receiver.url("/hook"));
    await visitor.press("Create webhook");
    await visitor.sees("Signing secret");
    await complete(apiKey);
    await visitor.page.getByRole("link", { name: receiver.url("/hook") }).click();
    await visitor.sees(/status 500|500/);
    await visitor.press("Details");
    await visitor.sees(/not now/);
    expect(await visitor.findings()).toEqual([]);
    await visitor.press("Replay");
    await visitor.page.locator(".badge", { hasText: "delivered" }).waitFor();
    const [first, second] = receiver.to("/hook");
    expect(second?.event).toMatchObject({ event: "job.completed", id: first?.event.id });
  });

  it("enables a webhook again that failed five times, and replays all it missed", async () => {
    receiver.behave("/broken", (response) => void response.writeHead(503).end());
    await visitor.go("/webhooks");
    await visitor.press("New webhook");
    await visitor.page.getByLabel("Endpoint").fill(receiver.url("/broken"));
    await visitor.press("Create webhook");
    await visitor.sees("Signing secret");
    await complete(apiKey);
    const database = openStore(stack);
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await expect.poll(() => receiver.to("/broken").length, { timeout: 15_000 }).toBe(attempt);
      // The time to the next attempt passes, once this one is on record.
      const passed = () =>
        database.query(
          `UPDATE webhook_delivery SET next_attempt_at = now() WHERE status = 'pending' AND failures = $1 AND NOT running
           AND webhook_id = (SELECT id FROM webhook WHERE url = $2)`,
          [attempt, receiver.url("/broken")],
        );
      if (attempt < 5) await expect.poll(async () => (await passed()).rowCount, { timeout: 15_000 }).toBe(1);
    }
    await database.end();
    await visitor.page.getByRole("link", { name: receiver.url("/broken") }).click();
    await visitor.sees("Five deliveries in a row failed");
    expect(await visitor.page.getByRole("button", { name: "Replay all that failed" }).isDisabled()).toBe(true);
    receiver.behave("/broken", (response) => void response.end());
    await visitor.press("Enable again");
    await visitor.page.getByText("Five deliveries in a row failed").waitFor({ state: "detached" });
    await visitor.press("Replay all that failed");
    await visitor.sees("1 delivery is sent again.");
    await visitor.page.locator(".badge", { hasText: "delivered" }).waitFor();
    expect(new Set(receiver.to("/broken").map(({ event }) => event.id)).size).toBe(1);
    expect(receiver.to("/broken")).toHaveLength(6);
  });

  it("lowers the threshold and hears of low credits", async () => {
    const { free } = await chainReader(stack).account(account.address);
    await visitor.go("/settings");
    await visitor.page.getByLabel("Warn below").fill(String(free - 1));
    await visitor.press("Save");
    await visitor.sees("Saved.");
    await complete(apiKey);
    await expect
      .poll(() => receiver.to("/hook").find(({ event }) => event.event === "credit.low")?.event.data, {
        timeout: 15_000,
      })
      .toEqual({ credits_remaining: free - PRICE, usdg_value: (free - PRICE) / 100, threshold: free - 1 });
  });

  it("filters the jobs and exports them", async () => {
    await visitor.go("/jobs");
    await visitor.page.getByLabel("Status").selectOption("refunded");
    await visitor.sees("No jobs here");
    await visitor.press("Show all jobs");
    await visitor.page.locator(`code[title="${jobId}"]`).waitFor();
    const downloading = visitor.page.waitForEvent("download");
    await visitor.page.getByRole("link", { name: "Export CSV" }).click();
    const csv = await (await downloading).createReadStream().then(readAll);
    const rows = csv.trim().split("\r\n");
    expect(rows[0]).toMatch(/^job_id,created_at,/);
    expect(rows.find((row) => row.startsWith(jobId))).toContain(`,settled,${MODEL},lite,${PRICE},0.02,`);
  });

  it("follows a job's transactions in the explorer and checks the answer", async () => {
    await visitor.go(`/jobs/${jobId}`);
    await visitor.page.getByLabel("Answer as you received it").fill(answer);
    await visitor.sees("This is the answer the worker signed");
    await visitor.page.getByLabel("Answer as you received it").fill(`${answer.slice(0, -1)}?`);
    await visitor.sees("This is another text than the worker signed");
    await visitor.page.locator(".fact", { hasText: "Settlement transaction" }).getByRole("link").click();
    await visitor.sees("Escrow released: proof verified, job charged");
    const paid = visitor.page.locator(".flows li", { hasText: "Worker" });
    expect(await paid.textContent()).toContain("0.018 USDG");
    expect(await visitor.page.locator(".flows li", { hasText: "Treasury" }).textContent()).toContain("0.002 USDG");
  });

  it("disputes a job whose answer is not the one that arrived", async () => {
    const { jobId: disputed, text } = await complete(apiKey);
    await visitor.go(`/jobs/${disputed}`);
    await visitor.press("Dispute…");
    const received = visitor.page.getByLabel("The whole answer as you received it");
    await received.fill(`${text}\n`);
    await visitor.sees(/equals the proof: there is nothing to dispute/);
    await received.fill("Something else arrived here.");
    expect(await visitor.findings()).toEqual([]);
    await visitor.press("Open the dispute");
    await visitor.sees("The dispute is open");
    await visitor.page.locator(".badge", { hasText: "disputed" }).first().waitFor();
    await visitor.sees("Dispute opened");
  });

  it("disputes a job with its own wallet, which puts up the bond", async () => {
    await visitor.go("/fund");
    await visitor.press("Deposit");
    await visitor.sees("Credits added");
    const { jobId: disputed } = await complete(apiKey);
    const before = await chainReader(stack).account(account.address);
    await visitor.go(`/jobs/${disputed}`);
    await visitor.page.locator(".badge", { hasText: "settled" }).first().waitFor();
    await visitor.press("Dispute…");
    await visitor.page.getByLabel("The whole answer as you received it").fill("Nothing like it arrived.");
    await visitor.press("Dispute with my wallet");
    await visitor.sees("The dispute is open");
    await visitor.page.locator(".badge", { hasText: "disputed" }).first().waitFor();
    const after = await chainReader(stack).account(account.address);
    expect([before.free - after.free, after.escrowed - before.escrowed]).toEqual([100, 100]);
  });

  it("is led to the block explorer that the service names", async () => {
    await visitor.page.route("**/app/api/config", async (route) => {
      const config = (await (await route.fetch()).json()) as object;
      await route.fulfill({ json: { ...config, explorer_url: "https://explorer.example/" } });
    });
    await visitor.go(`/jobs/${jobId}`);
    const link = visitor.page.locator(".fact", { hasText: "Settlement transaction" }).getByRole("link");
    expect(await link.getAttribute("href")).toMatch(/^https:\/\/explorer\.example\/tx\/0x[0-9a-f]{64}$/);
    await visitor.page.unroute("**/app/api/config");
  });

  it("sets a daily limit and a freeze that the chain enforces, and lifts them", async () => {
    await visitor.go("/fund");
    await visitor.page.getByLabel("Freeze spending").check();
    await visitor.press("Save on chain");
    await visitor.sees("Limits are in force");
    await expect(complete(apiKey)).rejects.toMatchObject({ status: 403, code: "spending_frozen" });
    await visitor.page.getByLabel("Freeze spending").uncheck();
    await visitor.page.getByLabel("Daily limit").check();
    await visitor.page.getByLabel("Credits a day").fill("1");
    await visitor.press("Save on chain");
    await expect
      .poll(() => complete(apiKey).catch((error: { code: string }) => error.code))
      .toBe("daily_limit_reached");
  });

  it("withdraws credits as tokens", async () => {
    const chain = chainReader(stack);
    const before = await chain.held(account.address);
    await visitor.go("/fund");
    await visitor.page.getByLabel("Credits to withdraw").fill("50");
    await visitor.press("Withdraw");
    await visitor.sees("Withdrawn");
    expect((await chain.held(account.address)) - before).toBe(500_000n);
  });

  it("is shown every job by anyone's browser, without signing in", async () => {
    const stranger = await Visitor.open(browser, stack, privateKeyToAccount(generatePrivateKey()));
    await stranger.go("/explorer");
    await stranger.page.getByLabel("Transaction hash or job id").fill(jobId);
    await stranger.press("Look it up");
    await stranger.sees("Credits locked in escrow for a job");
    expect(await stranger.page.getByText("Dispute…").count()).toBe(0);
    await stranger.page.locator("a[href*='/app/tx/']").first().click();
    await stranger.sees("Gas used");
    expect(stranger.complaints).toEqual([]);
    await stranger.close();
  });

  it("met no complaint of the browser on the way", () => {
    expect(visitor.complaints).toEqual([]);
  });
}

async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}
