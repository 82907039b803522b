import { expect, it } from "vitest";
import { chainReader } from "../../../support/chain-reader.ts";
import { MODEL, type Person, PRICE } from "./person.ts";

/** Jobs found, checked and disputed. */
export function jobSteps(person: Person): void {
  it("filters the jobs and exports them", async () => {
    const { visitor } = person;
    await visitor.go("/jobs");
    await visitor.page.getByLabel("Status").selectOption("refunded");
    await visitor.sees("No jobs here");
    await visitor.press("Show all jobs");
    await visitor.page.locator(`code[title="${person.jobId}"]`).waitFor();
    const downloading = visitor.page.waitForEvent("download");
    await visitor.page.getByRole("link", { name: "Export CSV" }).click();
    const csv = await (await downloading).createReadStream().then(readAll);
    const rows = csv.trim().split("\r\n");
    expect(rows[0]).toMatch(/^job_id,created_at,/);
    expect(rows.find((row) => row.startsWith(person.jobId))).toContain(`,settled,${MODEL},lite,${PRICE},0.02,`);
  });

  it("follows a job's transactions in the explorer and checks the answer", async () => {
    const { visitor } = person;
    await visitor.go(`/jobs/${person.jobId}`);
    await visitor.page.getByLabel("Answer as you received it").fill(person.answer);
    await visitor.sees("This is the answer the worker signed");
    await visitor.page.getByLabel("Answer as you received it").fill(`${person.answer.slice(0, -1)}?`);
    await visitor.sees("This is another text than the worker signed");
    await visitor.page.locator(".fact", { hasText: "Settlement transaction" }).getByRole("link").click();
    await visitor.sees("Escrow released: proof verified, job charged");
    const paid = visitor.page.locator(".flows li", { hasText: "Worker" });
    expect(await paid.textContent()).toContain("0.018 USDG");
    expect(await visitor.page.locator(".flows li", { hasText: "Treasury" }).textContent()).toContain("0.002 USDG");
  });

  it("disputes a job whose answer is not the one that arrived", async () => {
    const { visitor } = person;
    const { jobId: disputed, text } = await person.complete(person.apiKey);
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

  it("adds its own hash to the dispute that the operator opened for it", async () => {
    const { visitor } = person;
    await visitor.page.getByLabel("The answer as your wallet's owner received it").fill("Something else arrived here.");
    expect(await visitor.findings()).toEqual([]);
    visitor.wallet.asked.length = 0;
    await visitor.press("Join the dispute");
    await visitor.sees("Your hash is part of the dispute");
    expect(visitor.wallet.signed()).toEqual(["eth_sendTransaction"]);
    await visitor.page.locator("code", { hasText: "DisputeJoined" }).waitFor();
  });

  it("disputes a job with its own wallet: free credits are the bond, and what they lack is bought", async () => {
    const { visitor } = person;
    const { jobId: disputed } = await person.complete(person.apiKey);
    await visitor.go(`/jobs/${disputed}`);
    await visitor.page.locator(".badge", { hasText: "settled" }).first().waitFor();
    // From here on no job of the account holds credits.
    const chain = chainReader(person.stack);
    const [before, held] = [await chain.account(person.account.address), await chain.held(person.account.address)];
    expect(before.free).toBeLessThan(100);
    visitor.wallet.asked.length = 0;
    await visitor.press("Dispute…");
    await visitor.page.getByLabel("The whole answer as you received it").fill("Nothing like it arrived.");
    await visitor.press("Dispute with my wallet");
    await visitor.sees("The dispute is open");
    await visitor.page.locator(".badge", { hasText: "disputed" }).first().waitFor();
    // An allowance for the missing credits, and the dispute.
    expect(visitor.wallet.signed()).toEqual(["eth_sendTransaction", "eth_sendTransaction"]);
    const after = await chain.account(person.account.address);
    expect([after.free, after.escrowed - before.escrowed]).toEqual([0, 100]);
    expect(held - (await chain.held(person.account.address))).toBe(BigInt(100 - before.free) * 10_000n);
    expect(await chain.allowance(person.account.address)).toBe(0n);
    await visitor.go("/fund");
    await visitor.press("Deposit");
    await visitor.sees("Credits added");
  });

  it("is led to the block explorer that the service names", async () => {
    const { visitor } = person;
    await visitor.page.route("**/app/api/config", async (route) => {
      const config = (await (await route.fetch()).json()) as object;
      await route.fulfill({ json: { ...config, explorer_url: "https://explorer.example/" } });
    });
    await visitor.go(`/jobs/${person.jobId}`);
    const link = visitor.page.locator(".fact", { hasText: "Settlement transaction" }).getByRole("link");
    expect(await link.getAttribute("href")).toMatch(/^https:\/\/explorer\.example\/tx\/0x[0-9a-f]{64}$/);
    await visitor.page.unroute("**/app/api/config");
  });
}

async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}
