/** The models and how they answer, for everybody who chooses one. */
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect } from "vitest";
import { chat } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { it as base } from "./support/browser.ts";
import { MODEL } from "./support/web-stack.ts";

const it = base.extend("visitor", { scope: "file" }, ({ open }) => open(privateKeyToAccount(generatePrivateKey())));

describe("the models", () => {
  it("are found by name, tier and state, and sorted; the address keeps the choice", async ({ visitor }) => {
    await visitor.go("/models");
    const rows = visitor.page.getByRole("row").filter({ has: visitor.page.getByRole("link") });
    await rows.nth(2).waitFor();
    const first = async () => await rows.first().getByRole("link").textContent();
    await visitor.page.getByLabel("Sort by").selectOption("price");
    await expect.poll(first).toMatch(/llama-3.2-3b-instruct|qwen3-1.7b/);
    await visitor.page.getByLabel("Find").fill("LLAMA");
    await visitor.page.getByLabel("Tier", { exact: true }).selectOption("max");
    await expect.poll(first).toBe("llama-3.3-70b-instruct");
    expect(new URL(visitor.page.url()).search).toBe("?sort=price&q=LLAMA&tier=max");
    await visitor.page.reload();
    await expect.poll(first).toBe("llama-3.3-70b-instruct");
    await visitor.page.getByLabel("Find").fill("nobody has this");
    await visitor.sees("No model is like that");
    expect(await visitor.findings()).toEqual([]);
  });
});

describe("a model", () => {
  it("charts how it answered, for the keyboard too, and leads to the playground", async ({ visitor, stack }) => {
    const database = openStore(stack);
    const client = await Client.funded(stack, database, 100);
    await database.end();
    await client.api.post("/v1/chat/completions", chat(MODEL, "Say hello."));
    await visitor.go(`/models/${MODEL}`);
    const chart = visitor.page.getByRole("slider", { name: "Requests by hour" });
    // Gateways store what they saw every 20 s, and the page asks every 30 s.
    const said = () => chart.getAttribute("aria-valuetext");
    await expect.poll(said, { timeout: 90_000, interval: 500 }).toMatch(/Answered [1-9]/);
    expect(await visitor.page.getByRole("slider", { name: "Uptime by hour" }).getAttribute("aria-valuetext")).toMatch(
      /The model \d+(\.\d)? %, Worker \d+ /,
    );
    await chart.focus();
    await visitor.page.keyboard.press("ArrowLeft");
    expect(await chart.getAttribute("aria-valuenow")).toBe("23");
    await visitor.page.getByText("30 d", { exact: true }).click();
    await visitor.page.getByRole("slider", { name: "Requests by day" }).waitFor();
    expect(await visitor.findings()).toEqual([]);
    await visitor.page.getByRole("link", { name: "Try it" }).click();
    await expect.poll(() => visitor.page.getByLabel("Model", { exact: true }).inputValue()).toBe(MODEL);
  });
});

describe("an operator", () => {
  it("charts its jobs from the chain, and what its gateways saw", async ({ visitor, stack }) => {
    const database = openStore(stack);
    const client = await Client.funded(stack, database, 100);
    await database.end();
    await client.api.post("/v1/chat/completions", chat(MODEL, "Say hello."));
    await visitor.go("/operators/1");
    const said = (name: string) => visitor.page.getByRole("slider", { name }).getAttribute("aria-valuetext");
    await expect
      .poll(() => said("Jobs by how they ended by hour"), { timeout: 90_000, interval: 500 })
      .toMatch(/Charged [1-9]/);
    expect(await said("Charged by hour")).toMatch(/All its jobs [1-9]/);
    await expect.poll(() => said("Requests by hour"), { timeout: 90_000, interval: 500 }).toMatch(/Answered [1-9]/);
    expect(await said("Uptime by hour")).toMatch(/A model could be asked \d+/);
    await visitor.page.getByText("7 d", { exact: true }).click();
    await expect.poll(() => said("Jobs by how they ended by six hours")).toMatch(/Charged [1-9]/);
    expect(await visitor.findings()).toEqual([]);
  });
});
