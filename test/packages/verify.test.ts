/** `verify/` as a stranger gets it: its command, and its page opened from disk. */
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ANSWER, type Protocol, people, startProtocol } from "../verify/support/protocol.ts";
import { launchBrowser } from "../web/support/chromium.ts";
import { type Installed, install } from "./support/install.ts";

let verify: Installed;
let p: Protocol;
let job: string;
beforeAll(async () => {
  [verify, p] = await Promise.all([install("verify"), startProtocol()]);
  job = toApiJobId((await p.settle()).jobId);
});
afterAll(async () => {
  await p?.stop();
});

describe("the command of the package verify, installed in an empty folder", () => {
  const at = () => ["--rpc", p.chain.rpcUrl, "--escrow", p.escrow.address];

  it("audits a job, a wallet's month and a range: report, JSON and exit status", async () => {
    const report = await verify.command("job", job, ...at());
    expect(report).toMatchObject({ code: 0, stdout: expect.stringMatching(/All \d+ checks hold\./) });
    const json = JSON.parse((await verify.command("job", job, "--json", ...at())).stdout);
    expect(json).toMatchObject({ holds: true, jobs: [{ job_id: job, status: "settled", credits_charged: 8 }] });
    const month = new Date((await p.now()) * 1_000).toISOString().slice(0, 7);
    const wallet = await verify.command("wallet", people.client.address, "--month", month, ...at());
    expect(wallet).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`in ${month}: 1 jobs (1 settled, 0 open)`),
    });
    const range = await verify.command("range", ...at());
    expect(range).toMatchObject({ code: 0, stdout: expect.stringContaining("1 jobs (1 settled, 0 returned, 0 open)") });
  });

  it("finds the same under Node 20", async () => {
    for (const args of [["job", job], ["wallet", people.client.address], ["range"]])
      expect(await verify.commandUnderNode20(...args, ...at())).toMatchObject({ code: 0 });
  });

  it("ends with 2 where it could not look, and says what to do", async () => {
    const { code, stderr } = await verify.command("job", job, "--rpc", p.chain.rpcUrl);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^cmi-verify: --escrow ADDRESS needed/);
    expect(stderr).not.toContain("node_modules");
  });
});

describe("its page, opened from disk", () => {
  let page: Page;
  const asked = new Set<string>();
  let close: () => Promise<void>;
  beforeAll(async () => {
    const browser = await launchBrowser();
    close = () => browser.close();
    page = await browser.newPage();
    page.on("request", (request) => asked.add(new URL(request.url()).origin));
  });
  afterAll(() => close?.());

  /** Opens the page with these fields in its address, and verifies. */
  async function look(fields: Record<string, string>, text = ""): Promise<string> {
    const shared = new URLSearchParams({ rpc: p.chain.rpcUrl, escrow: p.escrow.address, ...fields });
    await page.goto("about:blank");
    await page.goto(`file://${join(verify.at, "dist", "verify.html")}#${shared}`);
    await page.getByLabel("Answer of the job").fill(text);
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText(/checks? (hold|FAIL)|could not be looked at/).waitFor();
    return (await page.locator("main").textContent()) ?? "";
  }

  it("audits a job, and asks the node alone", async () => {
    const found = await look({ subject: job }, ANSWER);
    expect(found).toMatch(/All \d+ checks hold\./);
    expect(found).toContain(`${job}: settled, 8 of`);
    expect(found).toContain("the text is the one the worker signed");
    expect([...asked].sort()).toEqual([new URL(p.chain.rpcUrl).origin, "null"]);
  });

  it("names what does not hold, first", async () => {
    const found = await look({ subject: job }, "another answer");
    expect(found).toMatch(/1 of \d+ checks FAIL\./);
    expect(await page.locator("tr").first().textContent()).toMatch(/^FAILSproof\.text/);
  });

  it("audits a wallet and a range", async () => {
    expect(await look({ subject: people.client.address })).toContain("1 jobs");
    expect(await look({ subject: "0-latest" })).toContain("blocks 0-latest: 1 jobs");
  });

  it("says why it could not look", async () => {
    expect(await look({ subject: job, escrow: p.token.address })).toMatch(/does not answer like an InferenceEscrow/);
    expect(await look({ subject: "job_42" })).toMatch(/"job_42" is no job id/);
  });
});
