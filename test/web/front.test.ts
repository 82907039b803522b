/** The front door: what a newcomer sees and tries at /. */
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, vi } from "vitest";
import type { Latest } from "../../web/contract.ts";
import { chat } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { it as base } from "./support/browser.ts";
import type { Visitor } from "./support/visitor.ts";
import { MODEL } from "./support/web-stack.ts";

/** The README's pictures: `npm run pictures`. */
const [PLAYGROUND, VERDICT] = ["playground", "verdict"].map((name) =>
  fileURLToPath(new URL(`../../docs/pictures/${name}.png`, import.meta.url)),
) as [string, string];

/** A stranger. */
const it = base.extend("visitor", { scope: "file" }, ({ open }) => open(privateKeyToAccount(generatePrivateKey())));

/** Each test begins at the front door, without what an earlier one chose. */
const atFrontDoor = async ({ visitor }: { visitor: Visitor }): Promise<void> => {
  await visitor.reset();
  await visitor.context.clearCookies();
  await visitor.go("/..");
};

async function drawPictures({ visitor }: { visitor: Visitor }): Promise<void> {
  const { page } = visitor;
  await page.setViewportSize({ width: 920, height: 960 });
  await page.getByLabel("Model", { exact: true }).selectOption(MODEL);
  for (const question of ["What is an escrow?", "Why do receipts matter?", "Who pays a worker?", "What is a credit?"]) {
    await page.getByLabel("Your message").fill(question);
    await page.keyboard.press("Enter");
    await page.locator(".step.done", { hasText: "Settled" }).waitFor();
    // A machine without fonts for emoji draws boxes.
    const answer = (await page.locator(".message.assistant").textContent()) ?? "";
    if (!/[\u0400-\uffff]/.test(answer.replaceAll(/[\u2010-\u2026]/g, ""))) break;
    await visitor.press("New chat");
  }
  await page.locator(".playground").screenshot({ path: PLAYGROUND });
  await page.getByRole("link", { name: "See the verdict on this job" }).click();
  await page.setViewportSize({ width: 1080, height: 960 });
  await visitor.sees("The wallet can dispute until");
  await page.mouse.move(0, 0);
  await page.screenshot({ path: VERDICT, clip: { x: 16, y: 70, width: 1048, height: 790 } });
  for (const picture of [PLAYGROUND, VERDICT]) expect(statSync(picture).size).toBeLessThan(120_000);
}

describe("the front door", () => {
  it.beforeEach(atFrontDoor);

  it("answers with the demo key, by keyboard alone, and shows the settlement", async ({ visitor }) => {
    await visitor.page.getByLabel("Model", { exact: true }).selectOption(MODEL);
    const steps = visitor.page.getByRole("list", { name: "The charge, step by step" });
    const messages = visitor.page.getByRole("log").locator(".message");
    for (const [nth, text] of ["Say hello.", "And again."].entries()) {
      await visitor.page.getByLabel("Your message").focus();
      await visitor.page.keyboard.type(text);
      await visitor.page.keyboard.press("Enter");
      await messages.nth(2 * nth + 1).waitFor();
      await steps.getByText("2 credits at most").waitFor();
      await steps.getByText(/^sha256:/).waitFor();
      await steps.locator(".step.done", { hasText: "Settled" }).getByText("2 credits", { exact: true }).waitFor();
      expect(await steps.locator("a[href*='/app/tx/']").count()).toBe(2);
    }
    expect(await messages.count()).toBe(4);
    expect(await visitor.findings()).toEqual([]);
    await visitor.page.getByRole("link", { name: "See the verdict on this job" }).click();
    await visitor.sees(/Charge correct: 2 credits/);
    expect(visitor.complaints).toEqual([]);
  });

  it("shows the verdict on a real charge before anything is asked", async ({ visitor }) => {
    const shown = visitor.page.locator(".shown-verdict");
    await shown.getByText(/^Charge correct: \d+ credits/).waitFor();
    await shown.getByText("holds", { exact: true }).waitFor();
    await shown.getByRole("link", { name: "All of this verdict" }).click();
    await visitor.sees(/Charge correct: \d+ credits/);
    expect(visitor.complaints).toEqual([]);
  });

  it("writes an answer as Markdown, and a message can be written anew", async ({ visitor }) => {
    await visitor.page.getByLabel("Model", { exact: true }).selectOption(MODEL);
    await visitor.press("Say hello.");
    const settled = visitor.page.locator(".step.done", { hasText: "Settled" });
    await settled.waitFor();
    const answer = visitor.page.locator(".message.assistant");
    await answer.locator("code", { hasText: "npm start" }).waitFor();
    await visitor.press("Edit");
    await expect.poll(() => visitor.page.getByLabel("Your message").inputValue()).toBe("Say hello.");
    await visitor.page.keyboard.press("Escape");
    expect(await visitor.page.getByLabel("Your message").inputValue()).toBe("");
    await visitor.press("Edit");
    await visitor.page.getByLabel("Your message").fill("Say good night.");
    await visitor.press("Send");
    await settled.waitFor();
    await expect.poll(() => visitor.page.locator(".message").count()).toBe(2);
    await visitor.page.locator(".message.user", { hasText: "Say good night." }).waitFor();
    expect(await visitor.findings()).toEqual([]);
  });

  it("sends system prompt and parameters, and shows the code of this chat", async ({ visitor }) => {
    await visitor.page.getByText("System prompt and parameters").click();
    await visitor.page.getByLabel("System prompt").fill("Answer in one word.");
    const temperature = visitor.page.getByLabel("Temperature");
    await temperature.fill("3");
    await visitor.sees("Temperature must be a number from 0 to 2.");
    expect(await visitor.page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
    await temperature.fill("0.5");
    const penalty = visitor.page.getByLabel("Frequency penalty");
    await penalty.fill("-2.1");
    await visitor.sees("Frequency penalty must be a number from -2 to 2.");
    await penalty.fill("-2");
    await visitor.page.getByLabel("Stop at").fill("END");
    const request = visitor.page.waitForRequest("**/v1/chat/completions");
    await visitor.press("Say hello.");
    expect((await request).postDataJSON()).toMatchObject({
      messages: [
        { role: "system", content: "Answer in one word." },
        { role: "user", content: "Say hello." },
      ],
      max_tokens: 500,
      temperature: 0.5,
      frequency_penalty: -2,
      stop: ["END"],
    });
    await visitor.page.locator(".step.done", { hasText: "Settled" }).waitFor();
    await visitor.page.getByText("View code of this chat").click();
    const code = visitor.page.locator(".talk pre");
    await code.filter({ hasText: '"temperature": 0.5' }).waitFor();
    await visitor.page.locator(".talk").getByText("Python", { exact: true }).click();
    await code.filter({ hasText: 'stop=[\n        "END",\n    ]' }).waitFor();
    await visitor.page.reload();
    expect(
      await visitor.page
        .locator(".segments input:checked")
        .first()
        .evaluate((one) => one.parentElement?.textContent),
    ).toBe("Python");
  });

  it("says what a request waits for, and ends it when it is stopped", async ({ visitor }) => {
    const held = Promise.withResolvers<void>();
    await visitor.page.route("**/v1/chat/completions", async (route) => {
      await held.promise;
      await route.abort().catch(() => {}); // the page has ended it before
    });
    await visitor.press("Say hello.");
    await visitor.sees(/Waiting for a place at a worker, and for the block that locks the credits/);
    await visitor.press("Stop");
    await visitor.sees(/You stopped before the service named a job/);
    held.resolve();
    await visitor.page.unroute("**/v1/chat/completions");
  });

  // Not a test: `npm run pictures`.
  if (process.env["PICTURES"] !== undefined) it("is drawn anew for the README: playground and verdict", drawPictures);

  it("tells in the API's words why there is no answer", async ({ visitor }) => {
    await visitor.press("Use your own key");
    await visitor.page.getByLabel("Your API key").fill("svc_live_00000000000000000000000000000000");
    await visitor.press("Say hello.");
    await visitor.page.getByRole("alert").getByText(/key/).waitFor();
    expect(await visitor.page.locator(".step.bad", { hasText: "Locked" }).count()).toBe(1);
  });

  it("estimates what an answer costs, and leads to a model's page", async ({ visitor }) => {
    const price = visitor.page.getByRole("row", { name: /llama-3\.3-70b-instruct/ }).locator("strong");
    const tokens = visitor.page.getByLabel("An answer of");
    for (const [length, cost] of [
      ["900", "40"],
      ["2001", "41"],
      ["", "40"],
    ] as const) {
      await tokens.fill(length);
      await price.getByText(cost, { exact: true }).waitFor();
    }
    await visitor.page.getByRole("row", { name: MODEL }).getByRole("link").click();
    await visitor.page.getByRole("heading", { name: "Workers that host it" }).waitFor();
  });

  it("shows a first call with the service's own address in three languages", async ({ visitor, stack }) => {
    for (const language of ["curl", "Python", "JavaScript"]) {
      await visitor.page.getByText(language, { exact: true }).click();
      await visitor.page.locator("pre", { hasText: `${stack.info.base_url}/v1` }).waitFor();
      await visitor.page.getByRole("button", { name: `Copy ${language} code` }).waitFor();
    }
  });

  it("is dark for those who chose it, before any script runs", async ({ visitor }) => {
    const scheme = () => visitor.page.evaluate("getComputedStyle(document.documentElement).colorScheme");
    expect(await scheme()).toBe("light dark");
    await visitor.page.getByText("Dark", { exact: true }).click();
    expect(await scheme()).toBe("dark");
    expect(await visitor.findings()).toEqual([]);
    await visitor.page.route("**/*.js", (route) => route.abort());
    for (const path of ["/..", "/models", "/../docs"]) {
      await visitor.go(path);
      expect(await scheme(), path).toBe("dark");
    }
    await visitor.page.unroute("**/*.js");
    await visitor.go("/models");
    await visitor.page.getByText("System", { exact: true }).click();
    await visitor.go("/../docs");
    expect(await scheme()).toBe("light dark");
  });
});

describe("whoever looks for something", () => {
  it.beforeEach(atFrontDoor);

  const jobs: { id: string; proof: string; tx: string; block: number }[] = [];
  let wallet = "";
  it.beforeAll(async ({ stack }) => {
    const database = openStore(stack);
    const client = await Client.funded(stack, database, 100);
    await database.end();
    wallet = client.account.address;
    for (const _ of [1, 2]) {
      const { headers } = await client.api.post("/v1/chat/completions", chat(MODEL, `Say hello to ${wallet}.`));
      const id = headers.get("x-service-job-id") as string;
      const settled = async () => {
        const { body } = await client.api.get(`/v1/jobs/${id}`);
        expect(body.status).toBe("settled");
        return body;
      };
      const body = await vi.waitFor(settled, { timeout: 60_000, interval: 200 });
      const { proof_hash: proof, settlement_tx: tx, block_number: block } = body.on_chain;
      jobs.push({ id, proof, tx, block });
    }
  });

  /** Opens the search, types a text, and goes to the option with this name, by keyboard alone. */
  const search = async (visitor: Visitor, text: string, option: RegExp) => {
    await visitor.page.locator("h1").waitFor();
    await visitor.page.keyboard.press("Control+k");
    await visitor.page.getByRole("dialog").getByRole("combobox").waitFor();
    await visitor.page.keyboard.type(text);
    const wanted = visitor.page.getByRole("option", { name: option });
    await wanted.waitFor();
    while ((await wanted.getAttribute("aria-selected")) !== "true") await visitor.page.keyboard.press("ArrowDown");
    await visitor.page.keyboard.press("Enter");
    await visitor.page.getByRole("dialog").getByRole("combobox").waitFor({ state: "detached" });
    return new URL(visitor.page.url()).pathname;
  };

  it("leads from the front door to a job's verdict, or says that it is none", async ({ visitor }) => {
    const { id } = jobs[1] as (typeof jobs)[0];
    await visitor.page.locator(`.latest code[title="${id}"]`).waitFor();
    await expect
      .poll(async () => Number(await visitor.figure("Jobs in 24 hours")), { timeout: 60_000 })
      .toBeGreaterThan(0);
    const field = visitor.page.getByLabel("Verify a job");
    await field.fill("hello");
    await visitor.press("Verify a job");
    await visitor.sees("This is neither a job's id nor a transaction hash.");
    await field.fill(` chatcmpl-${id} `);
    await visitor.press("Verify a job");
    await visitor.sees(/Charge correct: 2 credits/);
    expect(new URL(visitor.page.url()).pathname).toBe(`/app/jobs/${id}`);
  });

  it("finds wallet, job, settlement, block, worker and model in turn", async ({ visitor }) => {
    const { id, tx } = jobs[1] as (typeof jobs)[0];
    expect(await search(visitor, wallet.slice(2).toUpperCase(), /^Address/)).toBe(
      `/app/address/${wallet.toLowerCase()}`,
    );
    await visitor.page.locator(`code[title="${id}"]`).waitFor();
    expect(await search(visitor, tx.toUpperCase().replace("0X", ""), /^Transaction/)).toBe(`/app/tx/${tx}`);
    await visitor.page.locator(".fact", { hasText: "Confirmations" }).getByText(/^\d+$/).waitFor();
    await visitor.page.locator(".groups summary", { hasText: "complete" }).first().waitFor();
    await visitor.page.locator(".fact", { hasText: "Block" }).getByRole("link").click();
    await visitor.page
      .getByRole("row", { name: /settled/ })
      .getByRole("link")
      .first()
      .waitFor();
    await search(visitor, "worker 1", /^Worker/);
    await visitor.page.getByRole("heading", { name: "Worker 1" }).waitFor();
    await visitor.page.getByRole("link", { name: MODEL, exact: true }).first().click();
    await visitor.page.getByRole("heading", { name: "Workers that host it" }).waitFor();
    expect(visitor.complaints).toEqual([]);
  });

  it("finds jobs by the hash of an answer; without one the focus returns", async ({ visitor }) => {
    const { proof } = jobs[0] as (typeof jobs)[0];
    const box = visitor.page.getByRole("dialog").getByRole("combobox");
    await visitor.page.getByRole("button", { name: "Search" }).focus();
    await visitor.page.keyboard.press("Enter");
    await box.fill("f".repeat(64));
    await visitor.sees("Nothing has this name, number or hash.");
    await visitor.page.keyboard.press("Escape");
    await visitor.page.locator("button.search:focus").waitFor();
    await visitor.page.keyboard.press("Control+k");
    await box.fill(proof);
    const found = visitor.page.getByRole("option", { name: /Job with this proof/ });
    await found.first().waitFor();
    const same = jobs.filter((job) => job.proof === proof).length;
    expect(await found.count()).toBeGreaterThanOrEqual(same);
  });

  it("leads to the search of the documentation", async ({ visitor }) => {
    await visitor.go("/models");
    await visitor.page.locator("h1").waitFor();
    await visitor.page.keyboard.press("Control+k");
    await visitor.page.getByRole("dialog").getByRole("combobox").fill("idempotency");
    await visitor.page.getByRole("option", { name: /Search guide and reference for “idempotency”/ }).waitFor();
    await visitor.page.keyboard.press("Enter");
    await visitor.page.waitForURL(/\/docs\/search\?q=idempotency$/);
    await visitor.page.getByRole("link", { name: /^With an Idempotency-Key/ }).waitFor();
  });

  it("shows the newest jobs and transactions, and who does the work", async ({ visitor }) => {
    // Other files' jobs can push ours off the lists at any time: the page shows what it was told last, and that is not older than ours.
    let latest: Latest = { head_block: 0, jobs: [], transactions: [] };
    visitor.page.on("response", async (response) => {
      if (response.url().endsWith("/explorer/latest")) latest = (await response.json()) as Latest;
    });
    await visitor.go("/explorer");
    const rowsMissing = async () => {
      const shown = await visitor.page.locator("code[title]").evaluateAll((rows) => rows.map(({ title }) => title));
      const told = [...latest.jobs.map(({ id }) => id), ...latest.transactions.map(({ hash }) => hash)];
      return told.length === 0 ? ["everything"] : told.filter((title) => !shown.includes(title));
    };
    await vi.waitFor(async () => expect(await rowsMissing()).toEqual([]), { timeout: 60_000, interval: 200 });
    const blocks = latest.transactions.map(({ block_number }) => block_number);
    expect(blocks).toEqual(blocks.toSorted((a, b) => b - a));
    expect(blocks[0]).toBeGreaterThanOrEqual(jobs[1]?.block as number);
    expect(latest.jobs.length).toBeGreaterThan(1);
    await visitor.go("/workers");
    const row = visitor.page.getByRole("row", { name: /Worker 1/ });
    await row.getByText("active").waitFor();
    await row.getByText("100 %").waitFor();
    await visitor.press("Copy the worker's command");
  });
});

describe("the cookie of the theme", () => {
  it.for([
    ["dark", 'data-theme="dark"'],
    ['dark"><script>', '<html lang="en">'],
    ["blue", '<html lang="en">'],
  ] as const)("%s leaves %s in page and guide", async ([theme, left], { stack }) => {
    for (const path of ["/", "/docs"]) {
      const headers = { accept: "text/html", cookie: `a=b; theme=${theme}` };
      const response = await fetch(`${stack.info.base_url}${path}`, { headers });
      expect(response.headers.get("vary")?.toLowerCase()).toContain("cookie");
      expect(await response.text()).toContain(left);
    }
  });
});

describe("an API client at /", () => {
  it.for([undefined, "*/*", "application/json"])(
    "that accepts %s is told that there is nothing",
    async (accept, { stack }) => {
      const headers: Record<string, string> = accept === undefined ? {} : { accept };
      const response = await fetch(stack.info.base_url, { headers });
      expect([response.status, response.headers.get("vary")]).toEqual([404, "accept"]);
      expect(((await response.json()) as { error: { code: string } }).error.code).toBe("route_not_found");
    },
  );
});
