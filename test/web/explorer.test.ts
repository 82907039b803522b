/** The explorer's pages of addresses and contracts, and its lists without an end. */
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect } from "vitest";
import { chat } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { it as base } from "./support/browser.ts";
import { MODEL } from "./support/web-stack.ts";

const it = base
  .extend("visitor", { scope: "file" }, ({ open }) => open(privateKeyToAccount(generatePrivateKey())))
  .extend("client", { scope: "file" }, async ({ stack }) => {
    const database = openStore(stack);
    const client = await Client.funded(stack, database, 100);
    await database.end();
    const { headers } = await client.api.post("/v1/chat/completions", chat(MODEL, "Say hello."));
    return { wallet: client.account.address, job: headers.get("x-service-job-id") as string };
  });

describe("an address", () => {
  it("shows an address in tabs, which the address bar keeps", async ({ visitor, client }) => {
    await visitor.go(`/address/${client.wallet}`);
    await visitor.page.locator(`code[title="${client.job}"]`).waitFor();
    await visitor.page.getByText("Transactions", { exact: true }).click();
    const settled = visitor.page.getByRole("row", { name: /settled for 2 credits/ });
    await settled.locator(`code[title="${client.job}"]`).waitFor();
    await visitor.page.getByText("Token transfers", { exact: true }).click();
    await visitor.page.getByRole("row", { name: /out 1\.00 USDG .*InferenceEscrow/ }).waitFor();
    expect(await visitor.findings()).toEqual([]);
    expect(new URL(visitor.page.url()).search).toBe("?tab=transfers");
    await visitor.page.reload();
    await visitor.page.getByRole("row", { name: /out 1\.00 USDG/ }).waitFor();
    expect(visitor.complaints).toEqual([]);
  });
});

describe("a contract", () => {
  it("shows its events, answers its read functions and has its source and ABI", async ({ visitor, client, stack }) => {
    const escrow = stack.info.contracts.InferenceEscrow;
    await visitor.go(`/address/${escrow}?tab=read`);
    await visitor.page.getByText("accountOf", { exact: true }).click();
    const read = visitor.page.locator("details[open]");
    await read.getByLabel(/^wallet/).fill("nobody");
    await read.getByRole("button", { name: "Read" }).click();
    await read.getByText(/Address "nobody" is invalid/).waitFor();
    await read.getByLabel(/^wallet/).fill(client.wallet);
    await read.getByRole("button", { name: "Read" }).click();
    await read.locator("pre", { hasText: '"operator": 1' }).waitFor();
    expect(await visitor.findings()).toEqual([]);
    await visitor.page.getByText("Events", { exact: true }).click();
    await visitor.page
      .getByRole("heading", { name: /Escrow released|Credits locked/ })
      .first()
      .waitFor();
    await visitor.page
      .getByRole("heading", { name: /^Block [\d,]+/ })
      .first()
      .getByRole("link", { name: /^0x/ })
      .waitFor();
    await visitor.page.getByText("Source and ABI", { exact: true }).click();
    await visitor.page.locator("pre", { hasText: "contract InferenceEscrow" }).waitFor();
    await visitor.page.getByText("ABI", { exact: true }).click();
    await visitor.page.getByRole("button", { name: "Copy ABI of InferenceEscrow" }).waitFor();
    expect(await visitor.findings()).toEqual([]);
    expect(visitor.complaints).toEqual([]);
  });
});

describe("the lists of all jobs and transactions", () => {
  it.for(["jobs", "transactions"])("of %s go on to the first one, page by page", async (list, { visitor, client }) => {
    expect(client.job).toMatch(/^job_/);
    await visitor.go(`/explorer/${list}`);
    const rows = visitor.page.locator("tbody tr");
    await rows.first().waitFor();
    const seen = new Set<string>();
    for (;;) {
      const titles = await rows
        .locator("td:first-child code")
        .evaluateAll((all) => all.map((one) => one.getAttribute("title") ?? ""));
      const shown = titles.filter((title) => title !== "");
      expect(shown.some((title) => !seen.has(title))).toBe(true);
      for (const title of shown) seen.add(title);
      const older = visitor.page.getByRole("link", { name: "Older" });
      if ((await older.count()) === 0 || seen.size > 200) break;
      const before = visitor.page.url();
      await older.click();
      await expect.poll(() => visitor.page.url()).not.toBe(before);
      await visitor.page.locator(".card.stale").waitFor({ state: "detached" });
    }
    expect(await visitor.findings()).toEqual([]);
  });
});

describe("a job", () => {
  it("names its operator, whose page says what of the fee it earns", async ({ visitor, client }) => {
    await visitor.go(`/jobs/${client.job}`);
    await visitor.page.getByRole("link", { name: "Operator 1" }).click();
    await visitor.page.getByRole("row", { name: "Earned, 0 % of the fee 0.00" }).waitFor();
    await visitor.sees(/Of the fee an operator earns the part that governance decides, at most half/);
    expect(await visitor.findings()).toEqual([]);
  });
});

describe("the network", () => {
  it("is charted as this service saw it", async ({ visitor }) => {
    await visitor.go("/workers");
    await visitor.sees("This service over time");
    await visitor.page.getByRole("region", { name: "Jobs by how they ended" }).waitFor();
    expect(await visitor.flaws()).toEqual([]);
  });
});

describe("the status of the service", () => {
  it("says that no worker answers where every part of the service works", async ({ visitor, stack }) => {
    const status = (await (await fetch(`${stack.info.app_url}/api/status`)).json()) as object;
    await visitor.page.route("**/app/api/status", (route) =>
      route.fulfill({ status: 503, json: { ...status, status: "down" } }),
    );
    await visitor.go("/status");
    await visitor.sees(/^No worker answers for any model\. Credits are safe/);
    await visitor.reset();
  });

  it("is told part by part and model by model, to people and to monitors", async ({ visitor, stack }) => {
    await visitor.go("/status");
    await visitor.page.getByRole("row", { name: /^Index .*works/ }).waitFor();
    await visitor.page.getByRole("row", { name: new RegExp(`^${MODEL} `) }).waitFor();
    expect(await visitor.findings()).toEqual([]);
    const response = await fetch(`${stack.info.base_url}/app/api/status`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      parts: [{ name: "gateway", ok: true }, { name: "chain", ok: true }, {}, {}],
    });
  });
});
