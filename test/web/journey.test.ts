/** A person's way through the application, in a browser with a wallet, against the whole service. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import OpenAI from "openai";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, describe, expect } from "vitest";
import { OPERATOR } from "../../scripts/dev/wallets.ts";
import { apiClient } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { openStore } from "../support/client.ts";
import { giveGas } from "../support/gas.ts";
import { Receiver } from "../support/receiver.ts";
import { inSteps, it, type WebStack } from "./support/browser.ts";
import type { Visitor } from "./support/visitor.ts";
import { MODEL } from "./support/web-stack.ts";

/** What one short request to the model costs. */
const PRICE = 2;
const run = promisify(execFile);

describe("a person's way through", () => {
  const account = privateKeyToAccount(generatePrivateKey());
  let stack: WebStack;
  let chain: ChainReader;
  let visitor: Visitor;
  /** The person at another computer. */
  let elsewhere: Visitor;
  /** The person's endpoint for webhooks. */
  let receiver: Receiver;
  let apiKey = "";
  /** The first job, and its answer. */
  let jobId = "";
  let answer = "";

  it.beforeAll(async ({ stack: shared, open }) => {
    stack = shared;
    chain = chainReader(stack);
    receiver = await Receiver.open();
    await giveGas(stack, account.address);
    visitor = await open(account);
  });
  afterAll(() => receiver?.close());

  inSteps();

  /** Asks for a completion with the stock SDK; returns its text and its job. */
  async function complete(key: string): Promise<{ text: string; jobId: string }> {
    const openai = new OpenAI({ baseURL: `${stack.info.base_url}/v1`, apiKey: key, maxRetries: 0 });
    const reply = await openai.chat.completions.create({
      model: MODEL,
      messages: [{ role: "user", content: "Say hello." }],
    });
    return { text: reply.choices[0]?.message.content ?? "", jobId: reply.id.replace("chatcmpl-", "") };
  }
  /** The key that the page shows, once. */
  const shownKey = async () => (await visitor.page.getByTestId("api-key").textContent()) ?? "";

  /** What the overview calls done on the way to the first call. */
  const doneSteps = () => visitor.page.locator(".step.done .step-title").allTextContents();

  it("signs in", async () => {
    await visitor.signIn();
    await visitor.sees("No credits yet");
    expect(visitor.wallet.signed()).toEqual(["personal_sign"]);
    expect(await doneSteps()).toEqual(["Sign in with your wallet done"]);
    expect(visitor.page.url()).toMatch(/\/app\/$/);
    expect(await visitor.page.locator("[aria-current=page]").allTextContents()).toEqual(["Overview"]);
  });

  it("buys 100 credits with one signature, and sets a daily limit", async () => {
    await visitor.buyFirstCredits();
    const transactions = ["eth_sendTransaction", "eth_sendTransaction"];
    expect(visitor.wallet.signed()).toEqual(["eth_signTypedData_v4", ...transactions]);
    // The figure follows the message by the time it takes to ask for it.
    await expect.poll(() => visitor.figure("Free credits"), { timeout: 60_000 }).toBe("100");
    expect(await chain.account(account.address)).toMatchObject({
      free: 100,
      escrowed: 0,
      operator: OPERATOR,
      dailyLimit: 500,
    });
  });

  it("creates a key, which the openai SDK uses, and watches the job settle", async () => {
    await visitor.go("/settings");
    await visitor.press("Create key");
    apiKey = await shownKey();
    expect(await visitor.findings()).toEqual([]);
    await visitor.press("I have stored it");
    expect(await visitor.page.content()).not.toContain(apiKey);
    await visitor.go("/");
    await expect.poll(doneSteps, { timeout: 60_000 }).toHaveLength(3);
    ({ text: answer, jobId } = await complete(apiKey));
    const row = visitor.page.getByRole("row").filter({ has: visitor.page.locator(`code[title="${jobId}"]`) });
    await row.getByText("settled").waitFor();
    expect(await row.getByRole("cell").allTextContents()).toContain(String(PRICE));
    await visitor.page.locator(".figure .number", { hasText: String(100 - PRICE) }).waitFor();
    await visitor.page.getByText("First steps").waitFor({ state: "detached" });
  });

  it("regenerates the key: the old one fails, and the curl shown works", async () => {
    await visitor.go("/settings");
    await visitor.sees(/last used .*\d/);
    await visitor.press("Regenerate");
    await visitor.page.getByRole("dialog").getByRole("button", { name: "Regenerate" }).click();
    const fresh = await shownKey();
    expect(fresh).not.toBe(apiKey);
    await expect(complete(apiKey)).rejects.toMatchObject({ status: 401, code: "invalid_api_key" });
    apiKey = fresh;
    const curl = (await visitor.page.locator("pre", { hasText: fresh }).textContent()) as string;
    const { stdout } = await run("sh", ["-c", curl]);
    expect(JSON.parse(stdout).choices[0].message.content).toMatch(/./);
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
    const secret = await visitor.page.locator(".secret code").textContent();
    await complete(apiKey);
    await visitor.page.getByRole("link", { name: receiver.url("/hook") }).click();
    await visitor.sees(/status 500|500/);
    expect(await visitor.page.title()).toMatch(/^Webhook 127\.0\.0\.1:\d+, active – /);
    await visitor.press("Details");
    await visitor.sees(/not now/);
    const [request, answer] = await visitor.page.locator(".attempt .code pre").allTextContents();
    expect(request).toMatch(/^POST \S+\/hook\n.*\nService-Signature: t=\d+,v1=[0-9a-f]{64}$/);
    expect(answer).toMatch(/^HTTP 500\nDate: (?:.*\n)+\nnot now$/);
    expect(await visitor.flaws()).toEqual([]);
    await visitor.press("Replay");
    await visitor.page.locator(".badge", { hasText: "delivered" }).waitFor();
    const [first, second] = receiver.to("/hook");
    expect(second?.event).toMatchObject({ event: "job.completed", id: first?.event.id });
    await visitor.page.getByText("Resend as curl").click();
    const curl = (await visitor.page.locator("pre", { hasText: "openssl" }).textContent()) as string;
    const { stdout } = await run("sh", ["-c", curl], { env: { ...process.env, WEBHOOK_SECRET: secret ?? "" } });
    expect(stdout).toMatch(/200 OK/);
    expect(receiver.to("/hook")[2]?.event).toEqual(first?.event);
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
    // The time to the next attempt passes as soon as the one before is on record.
    const pass = () =>
      database.query(
        `UPDATE webhook_delivery SET next_attempt_at = now()
         WHERE status = 'pending' AND attempt = (SELECT count(*) FROM webhook_attempt WHERE delivery_id = id)
           AND webhook_id = (SELECT id FROM webhook WHERE wallet = $1 ORDER BY created_at DESC LIMIT 1)`,
        [account.address.toLowerCase()],
      );
    const attempts = async () => {
      await pass();
      return receiver.to("/broken").length;
    };
    await expect.poll(attempts, { timeout: 60_000 }).toBe(5);
    await database.end();
    await visitor.page.getByRole("link", { name: receiver.url("/broken") }).click();
    await visitor.sees("Five deliveries in a row failed");
    expect(await visitor.page.getByRole("button", { name: "Send all undelivered now" }).isDisabled()).toBe(true);
    receiver.behave("/broken", (response) => void response.end());
    await visitor.press("Enable again");
    await visitor.page.getByText("Five deliveries in a row failed").waitFor({ state: "detached" });
    await visitor.press("Send all undelivered now");
    await visitor.sees("1 delivery is sent now.");
    await visitor.page.locator(".badge", { hasText: "delivered" }).waitFor();
    expect(new Set(receiver.to("/broken").map(({ event }) => event.id)).size).toBe(1);
    expect(receiver.to("/broken")).toHaveLength(6);
  });

  it("lowers the threshold and hears of low credits", async () => {
    // The jobs before have given back what they did not use.
    const balance = () => chain.account(account.address);
    await expect.poll(balance, { timeout: 60_000 }).toMatchObject({ escrowed: 0 });
    const { free } = await balance();
    await visitor.go("/settings");
    await visitor.page.getByLabel("Warn below").fill(String(free - 1));
    await visitor.press("Save");
    await visitor.sees("Saved.");
    await complete(apiKey);
    await expect
      .poll(() => receiver.to("/hook").find(({ event }) => event.event === "credit.low")?.event.data, {
        timeout: 60_000,
      })
      .toEqual({ credits_remaining: free - PRICE, usdg_value: (free - PRICE) / 100, threshold: free - 1 });
  });

  it("filters the jobs and exports them", async () => {
    await visitor.go("/jobs");
    await visitor.page.getByLabel("Status").selectOption("refunded");
    await visitor.sees("No jobs here");
    await visitor.press("Show all jobs");
    await visitor.page.locator(`code[title="${jobId}"]`).waitFor();
    const found = visitor.page.locator("tbody code");
    await visitor.page.getByLabel("Job id").fill(jobId.toUpperCase());
    await visitor.press("Find");
    await expect.poll(() => found.count()).toBe(1);
    await visitor.page.reload();
    await visitor.page.locator(`code[title="${jobId}"]`).waitFor();
    expect(await found.count()).toBe(1);
    await visitor.page.getByLabel("Job id").fill("hello");
    await visitor.press("Find");
    await visitor.sees("An id is job_ and up to 32 digits");
    await visitor.page.getByLabel("Job id").fill("");
    await visitor.press("Find");
    await expect.poll(() => found.count()).toBeGreaterThan(1);
    const downloading = visitor.page.waitForEvent("download");
    await visitor.page.getByRole("link", { name: "Export CSV" }).click();
    const csv = await (await downloading).createReadStream().then(readAll);
    const rows = csv.trim().split("\r\n");
    expect(rows[0]).toMatch(/^job_id,created_at,/);
    expect(rows.find((row) => row.startsWith(jobId))).toContain(`,settled,${MODEL},lite,${PRICE},0.02,`);
  });

  it("reads its use by model and hour, by keyboard alone", async () => {
    await visitor.go("/");
    await visitor.page.getByRole("radio", { name: "30 d" }).focus();
    // The year is the last choice, and the first one follows it.
    for (const _ of ["12 months", "24 h"]) await visitor.page.keyboard.press("ArrowRight");
    await expect.poll(() => new URL(visitor.page.url()).search).toBe("?range=24h");
    await visitor.page.locator("summary", { hasText: "As a table" }).focus();
    await visitor.page.keyboard.press("Enter");
    await visitor.sees(/ left at today’s rate/);
    const [hours, models] = ["Credits by hour", "Use by model"].map((name) =>
      visitor.page.getByRole("table", { name }),
    );
    const sumOf = (texts: string[] = []) =>
      texts.reduce((sum, text) => sum + (Number.parseInt(text.replaceAll(",", ""), 10) || 0), 0);
    const byModel = sumOf(await models?.locator("tbody td:nth-child(3)").allTextContents());
    expect(byModel).toBeGreaterThan(2);
    expect(sumOf(await hours?.locator("tbody td.end").allTextContents())).toBe(byModel);
    expect(await visitor.findings()).toEqual([]);
    await models?.getByRole("link", { name: MODEL }).click();
    await expect.poll(() => visitor.page.getByLabel("Model").inputValue()).toBe(MODEL);
  });

  it("reads a job's verdict, found by its own browser, and catches a lying node", async ({ open }) => {
    await visitor.go(`/jobs/${jobId}`);
    await visitor.sees(
      /Charge correct: 2 credits, the flat price of 2 for \d+ tokens.* 90 % to the worker, 10 % to the treasury/,
    );
    // The title has the charge a frame after the verdict is shown.
    await expect
      .poll(() => visitor.page.title(), { timeout: 60_000 })
      .toBe(`${jobId.slice(0, 8)}…${jobId.slice(-6)}, settled, 2 credits – Credit-metered inference`);
    const charge = visitor.page
      .locator(".verdict details")
      .filter({ has: visitor.page.getByText("Charge", { exact: true }) });
    await charge.locator("summary").click();
    await charge.getByText("settlement.charge").waitFor();
    await charge.getByText(/JobSettled #\d+ in block \d+/).waitFor();
    await charge.locator("a[href*='/app/tx/']").waitFor();
    expect(await visitor.page.locator(".shares > div").allTextContents()).toEqual([
      "Worker1.8 credits 0.018 USDG",
      "Treasury0.2 credits 0.002 USDG",
      "Returned0 credits 0.00 USDG",
    ]);
    expect(await visitor.findings()).toEqual([]);
    const stranger = await open(privateKeyToAccount(generatePrivateKey()));
    await stranger.go(`/jobs/${jobId}`);
    await stranger.sees(/Charge correct/);
    // The verdict's lines hold the same events, folded.
    const raw = stranger.page.locator("details.raw");
    await raw.locator("summary").click();
    await raw.getByText("Credits locked in escrow for a job").waitFor();
    await raw.getByText(`${OPERATOR} (this service)`).first().waitFor();
    expect(await stranger.page.getByText("Dispute…").count()).toBe(0);
    await raw.locator("a[href*='/app/tx/']").first().click();
    await stranger.sees("Gas used");
    expect(stranger.complaints).toEqual([]);
    const job = (await apiClient(stack, apiKey).get(`/v1/jobs/${jobId}`)).body;
    const proof = (job.on_chain.proof_hash as string).replace("sha256:", "");
    await stranger.page.route(stack.info.rpc_url, async (route) => {
      const told = await (await route.fetch()).text();
      await route.fulfill({
        body: told.replaceAll(proof, "ab".repeat(32)),
        contentType: "application/json",
      });
    });
    await stranger.go(`/jobs/${jobId}`);
    await stranger.sees(/What the chain says of this job does not fit together. Look at: .*signatures/);
    // The line says why, and lies open.
    await stranger.page
      .locator(".verdict details[open]", { hasText: "Signatures" })
      .getByText("proof.signature")
      .waitFor();
    await stranger.close();
  });

  it("takes the audit away: as a command that finds the same, and as a file", async () => {
    const command = (await visitor.page.locator("pre", { hasText: "npx" }).textContent()) as string;
    const [npx, name, ...args] = command.split(" ");
    expect([npx, name]).toEqual(["npx", Object.keys((await import("../../verify/package.json")).default.bin)[0]]);
    const { stdout } = await run(process.execPath, ["verify/main.ts", ...args, "--json"]);
    const downloading = visitor.page.waitForEvent("download");
    await visitor.press("Download JSON");
    const download = await downloading;
    expect(download.suggestedFilename()).toBe(`${jobId}.json`);
    const file = JSON.parse(await download.createReadStream().then(readAll));
    expect(file.audit).toEqual(JSON.parse(stdout).jobs[0]);
  });

  it("turns the pages of the jobs from an address that somebody gave away", async ({ open }) => {
    await visitor.go("/jobs");
    const newest = visitor.page.locator("tbody code").first();
    const id = (await newest.getAttribute("title")) as string;
    elsewhere = await open(account);
    await elsewhere.signIn();
    await elsewhere.go(`/jobs?before=${id}`);
    await elsewhere.page.locator(`code[title="${jobId}"]`).waitFor();
    await elsewhere.press("Newer");
    await elsewhere.page.locator(`code[title="${id}"]`).waitFor();
    expect(new URL(elsewhere.page.url()).pathname).toBe("/app/jobs");
    expect(await elsewhere.page.getByRole("button", { name: "Newer" }).isDisabled()).toBe(true);
    await elsewhere.press("Older");
    await elsewhere.page.locator(`code[title="${jobId}"]`).waitFor();
  });

  it("is told when the time for a dispute is over, and how long it lasts before", async () => {
    const { jobId: latest } = await complete(apiKey);
    await visitor.go(`/jobs/${latest}`);
    await visitor.sees(/The service does it for you for another [01]:\d\d/);
    await visitor.page
      .locator(".step", { hasText: "The wallet can dispute until" })
      .getByText(/^in [01]:\d\d$/)
      .waitFor();
    await elsewhere.page.clock.setFixedTime(Date.now() + 600_000);
    await elsewhere.go(`/jobs/${latest}`);
    await elsewhere.sees("The time to dispute this charge is over.");
    await elsewhere.page
      .locator(".step.done", { hasText: "The wallet can dispute until" })
      .getByText("over", { exact: true })
      .waitFor();
    expect(await elsewhere.page.getByRole("button", { name: "Dispute…" }).count()).toBe(0);
  });

  it("is led to the block explorer that the service names", async () => {
    // Not in the other window: the browser takes a page that a test answers for a foreign one, and lets it ask no local node.
    await elsewhere.page.route("**/app/jobs/*", async (route) => {
      const page = await (await route.fetch()).text();
      const body = page.replace('"explorer_url":null', '"explorer_url":"https://explorer.example/"');
      await route.fulfill({ body, contentType: "text/html" });
    });
    await elsewhere.go(`/jobs/${jobId}`);
    const link = elsewhere.page.locator(".fact", { hasText: "Settlement transaction" }).getByRole("link");
    expect(await link.getAttribute("href")).toMatch(/^https:\/\/explorer\.example\/tx\/0x[0-9a-f]{64}$/);
    await elsewhere.close();
  });

  it("follows a job's transactions in the explorer and checks the answer", async () => {
    await visitor.go(`/jobs/${jobId}`);
    await visitor.page.getByLabel("Answer as you received it").fill(answer);
    await visitor.sees("This is the answer that this job's worker signed");
    await visitor.page.getByLabel("Answer as you received it").fill(`${answer.slice(0, -1)}?`);
    await visitor.sees("This is another text than this job's worker signed");
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
    await visitor.page.locator(".step", { hasText: "Dispute opened" }).waitFor();
  });

  it("adds its own hash to the dispute that the operator opened for it", async () => {
    await visitor.page.getByLabel("The answer as your wallet's owner received it").fill("Something else arrived here.");
    expect(await visitor.findings()).toEqual([]);
    visitor.wallet.asked.length = 0;
    await visitor.press("Join the dispute");
    await visitor.sees("Your hash is part of the dispute");
    expect(visitor.wallet.signed()).toEqual(["eth_sendTransaction"]);
    await visitor.page.locator(".step", { hasText: "Wallet joined the dispute" }).waitFor();
  });

  it("disputes with its own wallet; what free credits lack is bought", async () => {
    const { jobId: disputed } = await complete(apiKey);
    await visitor.go(`/jobs/${disputed}`);
    await visitor.page.locator(".badge", { hasText: "settled" }).first().waitFor();
    // From here on no job of the account holds credits. All of them but one leave.
    const { free } = await chain.account(account.address);
    await visitor.go("/fund");
    await visitor.page.getByLabel("Credits to withdraw").fill(String(free - 1));
    await visitor.press("Withdraw");
    await visitor.sees("Withdrawn");
    const [before, held] = [await chain.account(account.address), await chain.held(account.address)];
    await visitor.go(`/jobs/${disputed}`);
    visitor.wallet.asked.length = 0;
    await visitor.press("Dispute…");
    await visitor.page.getByLabel("The whole answer as you received it").fill("Nothing like it arrived.");
    await visitor.press("Dispute with my wallet");
    await visitor.sees("The dispute is open");
    await visitor.page.locator(".badge", { hasText: "disputed" }).first().waitFor();
    // An allowance for the missing credits, and the dispute.
    expect(visitor.wallet.signed()).toEqual(["eth_sendTransaction", "eth_sendTransaction"]);
    const after = await chain.account(account.address);
    expect([after.free, after.escrowed - before.escrowed]).toEqual([0, PRICE]);
    expect(held - (await chain.held(account.address))).toBe(BigInt(PRICE - before.free) * 10_000n);
    expect(await chain.allowance(account.address)).toBe(0n);
    await visitor.go("/");
    await expect.poll(() => visitor.figure("In bonds"), { timeout: 60_000 }).toBe(String(PRICE));
    await visitor.go("/fund");
    await visitor.press("Deposit");
    await visitor.sees("Credits added");
  });

  it("withdraws credits as tokens", async () => {
    const before = await chain.held(account.address);
    await visitor.go("/fund");
    await visitor.page.getByLabel("Credits to withdraw").fill("50");
    await visitor.press("Withdraw");
    await visitor.sees("Withdrawn");
    // The list of withdrawals on the same page has an earlier one, which is called so, too.
    await expect.poll(async () => (await chain.held(account.address)) - before, { timeout: 60_000 }).toBe(500_000n);
  });

  it("met no complaint of the browser on the way", () => {
    expect(visitor.complaints).toEqual([]);
  });
});

async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}
