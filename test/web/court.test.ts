/** A dispute as its parties see it: evidence, the client's own hash, the arbiters' votes, the ruling, and an end without one. The stack is this file's own: its time is moved. */
import { createTestClient, http, toHex } from "viem";
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeEach, expect } from "vitest";
import { Scene } from "../support/dispute-scene.ts";
import { giveGas } from "../support/gas.ts";
import { startTestStack } from "../support/stack.ts";
import { MODEL } from "./global-setup.ts";
import { it as base, describeInBrowser, type WebStack } from "./support/browser.ts";
import type { Visitor } from "./support/visitor.ts";

// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures this one needs
const it = base.override("stack", async ({}, { onCleanup }) => {
  const stack = await startTestStack({ workers: [{ models: [MODEL] }], windows: { dispute: 600 } });
  onCleanup(() => stack.remove());
  return stack;
});

const OTHER_TEXT = "Something else arrived here.";
const DAY_MS = 86_400_000;

/** The arbiters of a development deployment: of its public mnemonic, the eighth to the tenth. */
const arbiters = [7, 8, 9].map((addressIndex) => {
  const phrase = "test test test test test test test test test test test junk";
  const key = mnemonicToAccount(phrase, { addressIndex }).getHdKey().privateKey as Uint8Array;
  return privateKeyToAccount(toHex(key));
});

describeInBrowser("a dispute", () => {
  let stack: WebStack;
  let scene: Scene;
  let job: { id: string; text: string };
  let abandoned: string;

  it.beforeAll(async ({ stack: own }) => {
    stack = own;
    scene = await Scene.open(stack);
    job = await scene.settledJob(MODEL);
    expect((await scene.dispute(job.id)).status).toBe(200);
    abandoned = (await scene.settledJob(MODEL)).id;
    expect((await scene.dispute(abandoned)).status).toBe(200);
  });
  afterAll(() => scene?.close());
  // Each step builds on the ones before it.
  beforeEach(({ task, skip }) => {
    skip(task.suite?.tasks.some((step) => step.result?.state === "fail") ?? false, "an earlier step failed");
  });

  const claim = ({ page }: Visitor, who: string) => page.locator(".claims li", { hasText: who });
  const act = async (visitor: Visitor, id = job.id) => {
    await visitor.go(`/disputes/${id}`);
    await visitor.press("Act with a wallet");
    await visitor.press(/^Connect/);
  };

  it("is found by anybody from the list and from its job, with who says what and whose signature is good", async ({
    open,
  }) => {
    const stranger = await open(privateKeyToAccount(generatePrivateKey()));
    await stranger.go("/workers");
    await stranger.page.getByRole("link", { name: "Disputes" }).click();
    await stranger.page
      .getByRole("row")
      .filter({ has: stranger.page.locator(`code[title="${job.id}"]`) })
      .getByText("hearing")
      .waitFor();
    await stranger.go(`/jobs/${job.id}`);
    await stranger.page.getByRole("link", { name: /The dispute of this job/ }).click();
    await claim(stranger, "The worker signed")
      .getByText(/The signature is good/)
      .waitFor();
    await claim(stranger, "The gateway signed")
      .getByText(/All of it was sent.*Signed by a key of the job's operator/)
      .waitFor();
    await claim(stranger, "The gateway signed").getByText("the worker's hash", { exact: true }).waitFor();
    await claim(stranger, "The operator says").getByText("another hash").waitFor();
    await stranger.page.getByLabel("Compare a text with all of them").fill(job.text);
    await stranger.sees("It is what the worker signed, and what the gateway signed that it sent.");
    await stranger.press("Act with a wallet");
    await stranger.press(/^Connect/);
    await stranger.sees(/is no arbiter of set 1, which was in office when the dispute was opened/);
    expect(await stranger.page.getByRole("button", { name: /vote/i }).count()).toBe(0);
    expect(await stranger.findings()).toEqual([]);
    expect(await stranger.findingsByNight()).toEqual([]);
    expect(stranger.complaints).toEqual([]);
    await stranger.close();
  });

  it("hears the client's wallet, which need not sign in", async ({ open }) => {
    const client = await open(scene.client.account);
    await act(client);
    await client.page.getByLabel("The answer as your wallet's owner received it").fill(OTHER_TEXT);
    await client.press("Join the dispute");
    await client.sees("Your hash is part of the dispute");
    await claim(client, "The client's wallet says").getByText("another hash").waitFor();
    await client.page.locator(".badge", { hasText: "voting" }).waitFor();
    expect(client.wallet.signed()).toEqual(["eth_sendTransaction"]);
    await client.close();
  });

  it("is voted on by an arbiter, by keyboard alone, who can change the vote", async ({ open }) => {
    const [first] = arbiters;
    const arbiter = await open(first as (typeof arbiters)[number]);
    const { page } = arbiter;
    await arbiter.go(`/disputes/${job.id}`);
    await page.getByRole("button", { name: "Act with a wallet" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /^Connect/ }).focus();
    await page.keyboard.press("Enter");
    await arbiter.sees("The reason: its wallet added its own hash.");
    await page.getByRole("radio", { name: /Worker at fault/ }).focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await arbiter.sees("Your vote counts");
    await page.getByRole("row", { name: /Worker at fault.*1 of 2/ }).waitFor();
    await page.getByRole("radio", { name: /Worker at fault.*your vote/ }).waitFor();
    await page.getByRole("radio", { name: /Gateway at fault/ }).check();
    await arbiter.press("Change my vote");
    await page.getByRole("row", { name: /Gateway at fault.*1 of 2/ }).waitFor();
    await page.getByRole("row", { name: /Worker at fault.*0 of 2/ }).waitFor();
    expect(await arbiter.findings()).toEqual([]);
    expect(await arbiter.findingsByNight()).toEqual([]);
    await arbiter.close();
  });

  it("ends with the vote that makes the quorum, and shows what that paid to whom", async ({ open }) => {
    const arbiter = await open(arbiters[1] as (typeof arbiters)[number]);
    await act(arbiter);
    await arbiter.page.getByRole("radio", { name: /Gateway at fault/ }).check();
    await arbiter.sees("With your vote this ruling has its quorum");
    await arbiter.press("Vote");
    await arbiter.sees("Your vote counts");
    await arbiter.page.locator(".badge", { hasText: "Gateway at fault" }).first().waitFor();
    await arbiter.page.locator(".flows li", { hasText: "2 credits" }).first().waitFor();
    expect(await scene.status(job.id)).toBe("refunded");
    await arbiter.go(`/address/${scene.client.account.address}`);
    const row = arbiter.page.getByRole("row").filter({ has: arbiter.page.locator(`code[title="${job.id}"]`) });
    await row.getByRole("cell", { name: "0", exact: true }).waitFor();
    await arbiter.go("/disputes");
    await arbiter.page
      .getByRole("table", { name: /Ended/ })
      .getByRole("row", { name: /Gateway at fault/ })
      .waitFor();
    expect(arbiter.complaints).toEqual([]);
    await arbiter.close();
  });

  it("that nobody ruled in time is ended by anybody", async ({ open }) => {
    const chain = createTestClient({ mode: "anvil", transport: http(stack.info.rpc_url) });
    await chain.increaseTime({ seconds: DAY_MS / 1_000 });
    await chain.mine({ blocks: 1 });
    const account = privateKeyToAccount(generatePrivateKey());
    await giveGas(stack, account.address);
    const stranger = await open(account);
    await stranger.page.clock.install({ time: Date.now() + DAY_MS });
    await act(stranger, abandoned);
    await stranger.sees("Anybody can end the dispute now.");
    await stranger.press("End the dispute");
    await stranger.sees("The dispute has ended");
    await stranger.page.locator(".badge", { hasText: "Expired without a ruling" }).waitFor();
    await stranger.close();
  });
});
