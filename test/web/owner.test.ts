/** What a client does at its own pages: keeps a webhook, looks for jobs by day, reads its use by keyboard. */
import { text } from "node:stream/consumers";
import { describe, expect } from "vitest";
import { chat } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { answer, Receiver } from "../support/receiver.ts";
import { it } from "./support/browser.ts";
import type { Visitor } from "./support/visitor.ts";
import { MODEL } from "./support/web-stack.ts";

describe("a client at its own pages", () => {
  let client: Client;
  let receiver: Receiver;
  let visitor: Visitor;
  let jobId: string;

  it.beforeAll(async ({ stack, open }) => {
    const database = openStore(stack);
    client = await Client.funded(stack, database, 100);
    await database.end();
    receiver = await Receiver.open();
    const { headers } = await client.api.post("/v1/chat/completions", chat(MODEL, "Say hello."));
    jobId = headers.get("x-service-job-id") ?? "";
    visitor = await open(client.account, { colorScheme: "dark", width: 1440 });
    await visitor.signIn();
  });
  it.afterAll(() => receiver?.close());

  it("tests a webhook and sees what the endpoint answered", async () => {
    const { id } = await client.webhook(receiver.url("/hook", answer(503)), ["job.completed"]);
    await visitor.go(`/webhooks/${id}`);
    await visitor.press("Send a test");
    await visitor.sees("The test did not arrive: answered 503.");
    receiver.behave("/hook", answer(200));
    await visitor.press("Send a test");
    await visitor.sees(/^The test arrived: answered 200 in \d+ ms\.$/);
    expect(new Set(receiver.names("/hook"))).toEqual(new Set(["webhook.test"]));
    expect(await visitor.findings()).toEqual([]);
  });

  it("changes a webhook, sees arrivals, and opens a delivery's job", async () => {
    const { id } = await client.webhook(receiver.url("/old"), ["credit.topup"]);
    await visitor.go(`/webhooks/${id}`);
    await visitor.press("Edit");
    const dialog = visitor.page.getByRole("dialog");
    await dialog.getByLabel("Endpoint").fill(receiver.url("/new"));
    await dialog.getByLabel(/^job\.completed/).check();
    expect(await visitor.findings()).toEqual([]);
    await dialog.getByRole("button", { name: "Save" }).click();
    await visitor.page.getByRole("heading", { name: receiver.url("/new") }).waitFor();
    const { headers } = await client.api.post("/v1/chat/completions", chat(MODEL, "Hello again."));
    const job = headers.get("x-service-job-id");
    await visitor.sees("1 of 1");
    await visitor.page.locator(`code[title="${job}"]`).click();
    await expect.poll(() => visitor.page.url()).toContain(`/app/jobs/${job}`);
    expect(receiver.to("/old")).toEqual([]);
  });

  it("replaces a secret by keyboard, and ends the old one", async () => {
    const { id } = await client.webhook(receiver.url("/key"), ["credit.topup"], "the secret before it");
    await visitor.go(`/webhooks/${id}`);
    await visitor.page.getByRole("button", { name: "New secret" }).focus();
    await visitor.page.keyboard.press("Enter");
    await visitor.page.getByRole("dialog").getByRole("button", { name: "Make a new secret" }).focus();
    expect(await visitor.findings()).toEqual([]);
    await visitor.page.keyboard.press("Enter");
    await visitor.page.locator(".secret code", { hasText: /^whsec_/ }).waitFor();
    await visitor.sees(/^Two secrets count until /);
    await visitor.press("End the old secret");
    await visitor.page.getByText(/^Two secrets count until /).waitFor({ state: "detached" });
  });

  it("finds jobs by the day, in the list and in the file", async () => {
    const madeAt = Number.parseInt(jobId.slice(4, 16), 16);
    const day = (offset: number) => new Date(madeAt + offset * 86_400_000).toISOString().slice(0, 10);
    const row = visitor.page.locator(`code[title="${jobId}"]`);
    await visitor.go("/jobs");
    await visitor.page.getByLabel("From (UTC)").fill(day(0));
    await visitor.page.getByLabel("To (UTC)").fill(day(1));
    await row.waitFor();
    expect(await visitor.page.getByRole("columnheader", { name: "Answered in" }).count()).toBe(1);
    const file = visitor.page.getByRole("link", { name: "Export CSV" });
    const { origin } = new URL(visitor.page.url());
    const read = async (path: string | null) => (await visitor.page.request.get(`${origin}${path}`)).text();
    expect(await read(await file.getAttribute("href"))).toContain(jobId);
    await visitor.page.getByLabel("From (UTC)").fill(day(1));
    await visitor.sees("No jobs here");
    expect(await read(await file.getAttribute("href"))).not.toContain(jobId);
    expect(await visitor.findings()).toEqual([]);
  });

  it("sees what came in", async () => {
    await visitor.go("/fund");
    const moves = visitor.page.getByRole("list", { name: "What happened, newest first" });
    await moves.getByRole("listitem").filter({ hasText: "deposited" }).getByText("100 credits").first().waitFor();
    expect(await visitor.findings()).toEqual([]);
  });

  it("goes from hour to hour of its use with the arrow keys, and each is said", async () => {
    await visitor.go("/?range=24h&show=latency");
    const chart = visitor.page.getByRole("slider", { name: "Lock to answer by hour" });
    await chart.focus();
    await visitor.page.keyboard.press("End");
    const said = () => chart.getAttribute("aria-valuetext");
    const newest = await said();
    await visitor.page.keyboard.press("ArrowLeft");
    expect(await said()).not.toBe(newest);
    await visitor.page.keyboard.press("Home");
    expect(await chart.getAttribute("aria-valuenow")).toBe("1");
    // What is said begins with the hour, which the legend shows.
    await visitor.sees((await said())?.split(": ")[0] ?? "");
    await visitor.page.getByRole("radio", { name: "Not charged" }).focus();
    await visitor.page.keyboard.press("Space");
    await expect.poll(() => visitor.page.url()).toContain("show=errors");
    expect(await visitor.findings()).toEqual([]);
  });

  it("sees its use stacked by model for every time, as a table and as a file", async () => {
    for (const [range, span] of [
      ["24h", "hour"],
      ["30d", "day"],
      ["12m", "month"],
    ]) {
      await visitor.go(`/?range=${range}&show=credits`);
      const said = visitor.page.getByRole("slider", { name: `Credits by ${span}` });
      await expect.poll(() => said.getAttribute("aria-valuetext")).toMatch(/qwen3-1.7b \d+ credits/);
    }
    await visitor.page.getByText("As a table").click();
    await visitor.page.getByRole("region", { name: "Credits by month" }).getByRole("row").nth(1).waitFor();
    const download = visitor.page.waitForEvent("download");
    await visitor.press("Download CSV");
    expect(await text(await (await download).createReadStream())).toMatch(
      /^month_utc,model,jobs,not_charged,credits,tokens\r\n\d{4}-.*,qwen3-1.7b,/,
    );
    expect(await visitor.findings()).toEqual([]);
  });

  it("prints a job with its verdict on one page", async () => {
    await visitor.go(`/jobs/${jobId}`);
    await visitor.sees(/^Charge correct/);
    await visitor.sees("The wallet can dispute until");
    expect(await visitor.printedPages()).toEqual({ A4: 1, Letter: 1 });
  });

  it("has a statement of the month that adds up, on paper and as a file", async () => {
    await visitor.go("/statement");
    const rows = visitor.page.getByRole("region", { name: "Sum of the month" }).getByRole("row");
    await expect
      .poll(async () => (await rows.allInnerTexts()).slice(1).map((row) => row.split("\t").slice(0, 2)))
      .toEqual([
        ["Opening balance", "0"],
        ["Deposits", "+ 100"],
        ["Refunds after disputes", "0"],
        ["Charges for 2 jobs", "− 4"],
        ["Withdrawals", "0"],
        ["Bonds lost in disputes", "0"],
        ["Closing balance", "96"],
      ]);
    const download = visitor.page.waitForEvent("download");
    await visitor.press("Download CSV");
    const [head, ...lines] = (await text(await (await download).createReadStream())).trim().split("\r\n");
    expect(head).toBe("day_utc,opening,deposits,refunds,charges,withdrawals,forfeited_bonds,closing,jobs");
    for (const line of lines) {
      const [open, deposits, refunds, charges, withdrawals, bonds, closing] = line
        .split(",")
        .slice(1)
        .map(Number) as number[];
      expect(
        Number(open) + Number(deposits) + Number(refunds) - Number(charges) - Number(withdrawals) - Number(bonds),
      ).toBe(closing);
    }
    expect(lines.at(-1)).toMatch(/^\d{4}-\d\d,0,100,0,4,0,0,96,2$/);
    expect(await visitor.findings()).toEqual([]);
    expect(await visitor.printedPages()).toEqual({ A4: 1, Letter: 1 });
  });

  it("is told so where the address of a statement names no month", async () => {
    await visitor.go("/statement?month=x");
    await visitor.page.getByRole("heading", { name: "Statement", exact: true }).waitFor();
    await visitor.page.getByRole("button", { name: "Try again" }).waitFor();
  });

  it("is told on every page once a day's charges reach its alert, until it is removed", async () => {
    const { page } = visitor;
    await visitor.go("/settings");
    await page.getByLabel("Charged on a day").fill("4");
    await page.getByLabel("Charged in a month").fill("5");
    await visitor.press("Set the alerts");
    await visitor.sees("4 credits were charged today");
    for (const path of ["/", "/jobs", "/webhooks"]) {
      await visitor.go(path);
      await visitor.sees("4 credits were charged today");
    }
    expect(await page.getByText("were charged this month").count()).toBe(0);
    expect(await visitor.findings()).toEqual([]);
    await visitor.go("/settings");
    await page.getByLabel("Charged on a day").fill("");
    await visitor.press("Set the alerts");
    await page.getByText("4 credits were charged today").waitFor({ state: "detached" });
  });
});
