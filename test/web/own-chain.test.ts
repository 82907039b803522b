/**
 * Pages whose chain the test drives. A person's transactions while blocks come late; a worker that signed two answers. A dispute as its parties
 * see it; a decision of SVC holders from its proposal to its payment; a token that knows no permits. The stack is this file's own: one worker
 * is found guilty, its time is moved, and in the end its token is another one.
 */
import {
  type Address,
  createPublicClient,
  createTestClient,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  parseAbi,
  publicActions,
  toHex,
} from "viem";
import { generatePrivateKey, mnemonicToAccount, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeEach, describe, expect } from "vitest";
import type { SignedStatement } from "../../api/routes/completion.ts";
import { answerHash } from "../../protocol/answer-hash.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { compactSignature, escrowDomain, jobMessageTypes } from "../../protocol/messages.ts";
import { rpc } from "../../scripts/dev/chain.ts";
import { GATEWAY, OPERATOR, provideCredits } from "../../scripts/dev/wallets.ts";
import { chat, eventually } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { Client, openStore } from "../support/client.ts";
import { Scene } from "../support/dispute-scene.ts";
import { giveGas, richAccount } from "../support/gas.ts";
import { mined } from "../support/mined.ts";
import { startTestStack } from "../support/stack.ts";
import { testContract } from "../support/test-contract.ts";
import { it as base, inSteps, type WebStack } from "./support/browser.ts";
import type { Visitor } from "./support/visitor.ts";
import { MODEL } from "./support/web-stack.ts";

// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures this one needs
const it = base.extend("stack", { scope: "file" }, async ({}, { onCleanup }): Promise<WebStack> => {
  const stack = await startTestStack({
    workers: [{ models: [MODEL] }, { models: [MODEL] }],
    windows: { dispute: 600 },
  });
  onCleanup(() => stack.remove());
  return stack;
});

const DAY = 86_400;
/** Accounts of the public mnemonic of a development chain. */
const developer = (addressIndex: number) => {
  const phrase = "test test test test test test test test test test test junk";
  const key = mnemonicToAccount(phrase, { addressIndex }).getHdKey().privateKey as Uint8Array;
  return privateKeyToAccount(toHex(key));
};
/** The first holder of SVC. */
const holder = developer(2);
const arbiters = [7, 8, 9].map(developer);
const OTHER_TEXT = "Something else arrived here.";
const receiver = privateKeyToAccount(generatePrivateKey()).address;

describe("a transaction that its owner sends again, cancels or replaces in the wallet", () => {
  const account = privateKeyToAccount(generatePrivateKey());
  let stack: WebStack;
  let chain: ChainReader;
  let visitor: Visitor;

  it.beforeAll(async ({ stack: own, open }) => {
    stack = own;
    chain = chainReader(stack);
    await provideCredits(stack.info, { funder: await richAccount(stack), owner: account, credits: 500 });
    visitor = await open(account);
    await visitor.signIn();
  });
  afterAll(() => visitor?.close());
  beforeEach(async () => {
    await visitor.reset();
    await visitor.go("/fund");
    await visitor.page.getByLabel("Credits to withdraw").waitFor();
    // From here on blocks are made when the test says so: a transaction can be replaced while it waits.
    await rpc(stack.info.rpc_url, "evm_setAutomine", [false]);
  });
  afterEach(async () => {
    await rpc(stack.info.rpc_url, "evm_setAutomine", [true]);
    // Whatever others have sent meanwhile.
    await rpc(stack.info.rpc_url, "evm_mine");
  });

  /** Withdraws, puts another transaction in the place of that one, and returns its hash. */
  async function replace(
    credits: number,
    instead: (original: { to: Address; data: Hex }) => { to: Address; data?: Hex },
  ): Promise<Hex> {
    await visitor.page.getByLabel("Credits to withdraw").fill(String(credits));
    await visitor.press("Withdraw");
    await visitor.sees("Sent, waiting to be mined");
    // Only a page that has seen the first one can know that the second stands in its place.
    await expect.poll(() => visitor.wallet.read.size, { timeout: 60_000 }).toBe(1);
    const [hash] = visitor.wallet.read as Set<Hex>;
    const transport = http(stack.info.rpc_url);
    const original = await chain.client.getTransaction({ hash: hash as Hex });
    const wallet = createWalletClient({ account, transport });
    const by = await wallet.sendTransaction({
      ...instead({ to: original.to as Address, data: original.input }),
      nonce: original.nonce,
      gas: original.gas,
      maxFeePerGas: (original.maxFeePerGas ?? 0n) * 2n,
      maxPriorityFeePerGas: (original.maxPriorityFeePerGas ?? 0n) * 2n,
      chain: null,
    });
    await rpc(stack.info.rpc_url, "evm_mine");
    return by;
  }
  const free = async () => (await chain.account(account.address)).free;

  it("sent again with a higher fee is done, under its new hash", async () => {
    const before = await free();
    const by = await replace(10, (original) => original);
    await visitor.sees("Withdrawn");
    await visitor.page.locator(".action-status a").first().waitFor();
    expect(await visitor.page.locator(".action-status a").first().getAttribute("href")).toContain(by);
    expect(await free()).toBe(before - 10);
  });

  it("cancelled is not told as done", async () => {
    const before = await free();
    const by = await replace(10, () => ({ to: account.address }));
    await visitor.sees("Cancelled in the wallet");
    await visitor.sees(by);
    expect(await visitor.page.locator(".action-status", { hasText: "Withdrawn" }).count()).toBe(0);
    expect(await free()).toBe(before);
  });

  it("replaced by something else is not told as done", async () => {
    const by = await replace(10, () => ({ to: privateKeyToAccount(generatePrivateKey()).address }));
    await visitor.sees("Replaced in the wallet");
    await visitor.sees(by);
    expect(await visitor.page.locator(".action-status", { hasText: "Withdrawn" }).count()).toBe(0);
  });
});

/** 2 credits, of which the protocol has a tenth. */
const FEE = 2_000n;

describe("a worker that signed two answers", () => {
  let visitor: Visitor;
  let jobId: string;

  it.beforeAll(async ({ stack, open }) => {
    const database = openStore(stack);
    const { api, account } = await Client.funded(stack, database, 100);
    await database.end();
    const reply = await eventually(
      () => api.post("/v1/chat/completions", chat(MODEL, "Say hello.")),
      ({ status }) => status === 200,
    );
    jobId = reply.headers.get("x-service-job-id") as string;
    await eventually(
      () => api.get(`/v1/jobs/${jobId}`),
      ({ body }) => body.status === "settled",
    );
    await punish(stack, (await api.get(`/v1/jobs/${jobId}/output`)).body.service);
    visitor = await open(account);
    await visitor.signIn();
  });

  it("has the fee paid to another address of its choice", async ({ stack }) => {
    const receiver = privateKeyToAccount(generatePrivateKey()).address;
    await visitor.go("/fund");
    await visitor.sees(/0\.002 USDG wait for this wallet/);
    expect(await visitor.findings()).toEqual([]);
    await visitor.page.getByLabel("Pay them to").fill(receiver);
    await visitor.press("Claim");
    await visitor.sees("Paid out");
    expect(await chainReader(stack).held(receiver)).toBe(FEE);
  });

  it("disputes the charge without a bond", async ({ stack }) => {
    const wallet = visitor.wallet.account.address;
    const before = await chainReader(stack).account(wallet);
    await visitor.go(`/jobs/${jobId}`);
    await visitor.sees(/dispute the charge without a bond until/);
    await visitor.press("Dispute…");
    await visitor.page.getByLabel("The whole answer as you received it").fill("The other answer.");
    visitor.wallet.asked.length = 0;
    await visitor.press("Dispute with my wallet");
    await visitor.sees("The dispute is open");
    expect(visitor.wallet.signed()).toEqual(["eth_sendTransaction"]);
    const { free, escrowed } = await chainReader(stack).account(wallet);
    expect({ free, escrowed }).toEqual({ free: before.free, escrowed: before.escrowed });
  });
});

describe("a dispute", () => {
  let stack: WebStack;
  let scene: Scene;
  let job: { id: string; text: string };
  let abandoned: string;
  let visitor: Visitor;

  it.beforeAll(async ({ stack: own, open }) => {
    stack = own;
    scene = await Scene.open(stack);
    job = await scene.settledJob(MODEL);
    expect((await scene.dispute(job.id)).status).toBe(200);
    abandoned = (await scene.settledJob(MODEL)).id;
    expect((await scene.dispute(abandoned)).status).toBe(200);
    visitor = await open(scene.client.account);
  });
  afterAll(async () => {
    await scene?.close();
    await visitor?.close();
  });
  inSteps();

  const claim = (who: string) => visitor.page.locator(".claims li", { hasText: who });
  const act = async (account: PrivateKeyAccount, id = job.id) => {
    visitor.wallet.becomes(account);
    await visitor.go(`/disputes/${id}`);
    await visitor.press("Act with a wallet");
    await visitor.press(/^Connect/);
  };

  it("is found from the list and its job, with claims and signatures checked", async () => {
    visitor.wallet.becomes(privateKeyToAccount(generatePrivateKey()));
    await visitor.go("/workers");
    await visitor.page.getByRole("link", { name: "Disputes" }).click();
    await visitor.page
      .getByRole("row")
      .filter({ has: visitor.page.locator(`code[title="${job.id}"]`) })
      .getByText("hearing")
      .waitFor();
    await visitor.go(`/jobs/${job.id}`);
    await visitor.page.getByRole("link", { name: /The dispute of this job/ }).click();
    await claim("The worker signed")
      .getByText(/The signature is good/)
      .waitFor();
    await claim("The gateway signed")
      .getByText(/All of it was sent.*Signed by a key of the job's operator/)
      .waitFor();
    await claim("The gateway signed").getByText("the worker's hash", { exact: true }).waitFor();
    await claim("The operator says").getByText("another hash").waitFor();
    await visitor.page.getByLabel("Compare a text with all of them").fill(job.text);
    await visitor.sees("It is what the worker signed, and what the gateway signed that it sent.");
    await visitor.press("Act with a wallet");
    await visitor.press(/^Connect/);
    await visitor.sees(/is no arbiter of set 1, which was in office when the dispute was opened/);
    expect(await visitor.page.getByRole("button", { name: /vote/i }).count()).toBe(0);
    expect(await visitor.flaws()).toEqual([]);
    expect(visitor.complaints).toEqual([]);
  });

  it("hears the client's wallet, which need not sign in", async () => {
    await act(scene.client.account);
    await visitor.page.getByLabel("The answer as your wallet's owner received it").fill(OTHER_TEXT);
    await visitor.press("Join the dispute");
    await visitor.sees("Your hash is part of the dispute");
    await claim("The client's wallet says").getByText("another hash").waitFor();
    await visitor.page.locator(".badge", { hasText: "voting" }).waitFor();
    expect(visitor.wallet.signed()).toEqual(["eth_sendTransaction"]);
  });

  it("is voted on by an arbiter, by keyboard alone, who can change the vote", async () => {
    const { page } = visitor;
    visitor.wallet.becomes(arbiters[0] as PrivateKeyAccount);
    await visitor.go(`/disputes/${job.id}`);
    await page.getByRole("button", { name: "Act with a wallet" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /^Connect/ }).focus();
    await page.keyboard.press("Enter");
    await visitor.sees("The reason: its wallet added its own hash.");
    await page.getByRole("radio", { name: /Worker at fault/ }).focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await visitor.sees("Your vote counts");
    await page.getByRole("row", { name: /Worker at fault.*1 of 2/ }).waitFor();
    await page.getByRole("radio", { name: /Worker at fault.*your vote/ }).waitFor();
    await page.getByRole("radio", { name: /Gateway at fault/ }).check();
    await visitor.press("Change my vote");
    await page.getByRole("row", { name: /Gateway at fault.*1 of 2/ }).waitFor();
    await page.getByRole("row", { name: /Worker at fault.*0 of 2/ }).waitFor();
    expect(await visitor.flaws()).toEqual([]);
  });

  it("ends with the vote that makes the quorum, and shows what that paid to whom", async () => {
    await act(arbiters[1] as PrivateKeyAccount);
    await visitor.page.getByRole("radio", { name: /Gateway at fault/ }).check();
    await visitor.sees("With your vote this ruling has its quorum");
    await visitor.press("Vote");
    await visitor.sees("Your vote counts");
    await visitor.page.locator(".badge", { hasText: "Gateway at fault" }).first().waitFor();
    await visitor.page.locator(".flows li", { hasText: "2 credits" }).first().waitFor();
    expect(await scene.status(job.id)).toBe("refunded");
    await visitor.go(`/address/${scene.client.account.address}`);
    const row = visitor.page.getByRole("row").filter({ has: visitor.page.locator(`code[title="${job.id}"]`) });
    await row.getByRole("cell", { name: "0", exact: true }).waitFor();
    await visitor.go("/disputes");
    await visitor.page
      .getByRole("table", { name: /Ended/ })
      .getByRole("row", { name: /Gateway at fault/ })
      .waitFor();
    expect(visitor.complaints).toEqual([]);
  });

  it("leaves a job that prints on one sheet, dark on white also for a dark theme", async () => {
    const { page, wallet } = visitor;
    wallet.becomes(scene.client.account);
    await visitor.signIn();
    await visitor.go(`/jobs/${job.id}`);
    await visitor.sees("Your job");
    await page.locator(".step", { hasText: "Dispute ended" }).waitFor();
    await visitor.sees(/^Given back: 2 of 2 credits/);
    expect(await visitor.printedPages()).toEqual({ A4: 1, Letter: 1 });
    const ink = () => page.evaluate("getComputedStyle(document.querySelector('h1')).color");
    const byDay = await ink();
    await page.evaluate("document.documentElement.dataset.theme = 'dark'");
    expect(await ink()).not.toBe(byDay);
    await page.emulateMedia({ media: "print" });
    expect(await ink()).toBe(byDay);
    await page.emulateMedia({ media: null });
    await visitor.press("Sign out");
  });

  it("that nobody ruled in time is ended by anybody", async () => {
    const chain = createTestClient({ mode: "anvil", transport: http(stack.info.rpc_url) }).extend(publicActions);
    // The gateway ends such a dispute, too, but not without gas.
    const { address } = GATEWAY;
    const gas = await chain.getBalance({ address });
    await chain.setBalance({ address, value: 0n });
    await chain.increaseTime({ seconds: DAY });
    await chain.mine({ blocks: 1 });
    const account = privateKeyToAccount(generatePrivateKey());
    await giveGas(stack, account.address);
    await visitor.page.clock.install({ time: Date.now() + DAY * 1_000 });
    await act(account, abandoned);
    await visitor.sees("Anybody can end the dispute now.");
    await visitor.press("End the dispute");
    await visitor.sees("The dispute has ended");
    await visitor.page.locator(".badge", { hasText: "Expired without a ruling" }).waitFor();
    await chain.setBalance({ address, value: gas });
  });
});

describe("governance", () => {
  let stack: WebStack;
  let chain: ChainReader;
  let visitor: Visitor;

  it.beforeAll(async ({ stack: own, open }) => {
    stack = own;
    chain = chainReader(stack);
    const funder = createWalletClient({ account: await richAccount(stack), transport: http(stack.info.rpc_url) });
    const treasury = await chain.treasury();
    const hash = await funder.writeContract({
      address: stack.info.contracts["Stablecoin"] as `0x${string}`,
      abi: parseAbi(["function mint(address to, uint256 units)"]),
      functionName: "mint",
      args: [treasury, 100_000_000n - (await chain.held(treasury))],
      chain: null,
    });
    await mined(chain.client, hash);
    visitor = await open(privateKeyToAccount(generatePrivateKey()));
  });
  afterAll(() => visitor?.close());
  inSteps();

  const pass = async (seconds: number) => {
    const clock = createTestClient({ mode: "anvil", transport: http(stack.info.rpc_url) });
    await clock.increaseTime({ seconds });
    await clock.mine({ blocks: 1 });
  };
  const act = async () => {
    await visitor.go("/governance");
    await visitor.press("Act with a wallet");
    // A wallet that was connected before is found again.
    if (visitor.wallet.asked.length === 0) await visitor.press(/^Connect/);
    await visitor.sees("Your votes");
  };
  const state = (name: string) => visitor.page.locator(".proposals .badge", { hasText: name }).waitFor();

  it("shows everybody rules and treasury, and why they cannot propose", async () => {
    await visitor.go("/workers");
    await visitor.page.getByRole("link", { name: "Governance" }).click();
    await visitor.sees("Nothing was proposed");
    expect(await visitor.page.locator(".fact", { hasText: "Holds" }).first().textContent()).toContain("100.00 USDG");
    expect(await visitor.page.locator(".fact", { hasText: "To propose" }).textContent()).toContain("1,000,000 SVC");
    await act();
    await visitor.sees("Your wallet cannot propose");
    expect(await visitor.findings()).toEqual([]);
    expect(visitor.complaints).toEqual([]);
  });

  it("counts the holder's SVC once they are delegated", async () => {
    visitor.wallet.becomes(holder);
    await act();
    await visitor.sees("nobody: they do not count yet");
    await visitor.press("Delegate");
    await visitor.sees("Delegated");
    await visitor.page.locator(".fact", { hasText: "Your SVC vote through" }).getByText("yourself").waitFor();
    // Whoever proposes needs the votes a second before: the chain makes no block by itself.
    await pass(2);
  });

  it("decodes a raw call before it is proposed, and what would be refused", async () => {
    const { page } = visitor;
    await page.getByLabel("What it does").selectOption("Any call, as its bytes");
    await page.getByLabel("Contract").fill(chain.escrow);
    const data = encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "scheduleFee", args: [2_001, 10] });
    await page.getByLabel("Calldata").fill(data);
    await page
      .locator(".preview", { hasText: "Announce a protocol fee of 20.01 %, of which operators have 50 %" })
      .waitFor();
    await visitor.sees("It would be refused today");
    await page.getByLabel("Calldata").fill("0xdeadbeef");
    await page.locator(".preview").getByText("cannot be decoded").waitFor();
  });

  it("proposes a payment and a fee together, by keyboard alone", async () => {
    const { page } = visitor;
    await page.getByLabel("What it does").selectOption("Pay USDG from the treasury");
    await page.getByLabel("To", { exact: true }).focus();
    await page.keyboard.type(receiver);
    await page.keyboard.press("Tab");
    await page.keyboard.type("12.5");
    await page.keyboard.press("Enter");
    await page.getByLabel("What it does").selectOption("Announce a protocol fee");
    await page.getByLabel("Fee", { exact: true }).focus();
    await page.keyboard.type("7.5");
    await page.keyboard.press("Tab");
    await page.keyboard.type("50");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "The proposal" }).waitFor();
    await page.getByLabel("Why").focus();
    await page.keyboard.type("Pay for the audit.");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator(".notice.good", { hasText: "Proposed" }).waitFor();
    await state("pending");
    await visitor.sees(/Pay 12.50 USDG from the treasury to .*, and 1 more/);
    expect(await visitor.flaws()).toEqual([]);
  });

  it("votes, queues and executes, each in its time", async () => {
    await pass(DAY + 2);
    await act();
    await state("active");
    await visitor.press("For");
    await visitor.sees("You have voted.");
    await visitor.sees(/Enough take part/);
    await pass(5 * DAY);
    await act();
    await state("succeeded");
    await visitor.press("Queue");
    await state("queued");
    await visitor.page
      .getByRole("table", { name: /timelock/ })
      .getByText(/Pay 12.50 USDG.*fee of 7.5 %/)
      .waitFor();
    expect(await visitor.page.getByRole("button", { name: "Execute" }).isDisabled()).toBe(true);
    await pass(2 * DAY);
    await act();
    await visitor.press("Execute");
    await state("executed");
    expect(await chain.held(receiver)).toBe(12_500_000n);
    await visitor.page
      .getByRole("table", { name: /treasury paid/ })
      .getByText("12.50 USDG")
      .waitFor();
    const steps = visitor.page
      .getByRole("list", { name: "Life of the proposal", includeHidden: true })
      .locator("li.done");
    expect(await steps.locator("time").count()).toBe(6);
    await visitor.page.locator(".proposals summary").click();
    expect(await visitor.flaws()).toEqual([]);
    expect(visitor.complaints).toEqual([]);
  });
});

describe("a stablecoin without permits", () => {
  it("takes an approval and a deposit, and leaves nothing approved", async ({ stack, open }) => {
    await putPlainToken(stack);
    const account = privateKeyToAccount(generatePrivateKey());
    await giveGas(stack, account.address);
    const visitor = await open(account);
    await visitor.signIn();
    visitor.wallet.nodeMs = 300;
    await visitor.buyFirstCredits();
    expect(visitor.wallet.signed()).toEqual(Array(3).fill("eth_sendTransaction"));
    const chain = chainReader(stack);
    expect(await chain.account(account.address)).toMatchObject({ free: 100, operator: OPERATOR });
    expect(await chain.allowance(account.address)).toBe(0n);
  });
});

/** Has the worker's key sign a second answer, and shows both to the contract. */
async function punish(stack: WebStack, { completion, signature, worker_address }: SignedStatement): Promise<void> {
  const workers = stack.workers.map(({ privateKey }) => privateKeyToAccount(privateKey));
  const worker = workers.find(({ address }) => address === worker_address) as PrivateKeyAccount;
  const escrow = stack.info.contracts["InferenceEscrow"] as Address;
  const second = { ...completion, proofHash: answerHash("another answer") };
  const other = await worker.signTypedData({
    domain: escrowDomain(stack.info.chain_id, escrow),
    types: jobMessageTypes,
    primaryType: "Completion",
    message: second,
  });
  const transport = http(stack.info.rpc_url);
  const hash = await createWalletClient({ account: await richAccount(stack), transport }).writeContract({
    address: escrow,
    abi: inferenceEscrowAbi,
    functionName: "proveEquivocation",
    args: [completion, compactSignature(signature), second, compactSignature(other)],
    chain: null,
  });
  await mined(createPublicClient({ transport }), hash);
}

/** Puts the code of a token without permits in the place of the stack's, whose storage it can read. */
async function putPlainToken(stack: WebStack): Promise<void> {
  const transport = http(stack.info.rpc_url);
  const chain = createTestClient({ mode: "anvil", transport }).extend(publicActions);
  const deployer = createWalletClient({ account: await richAccount(stack), transport });
  const compiled = testContract("PermitlessStablecoin");
  const { contractAddress } = await mined(chain as never, await deployer.deployContract({ ...compiled, chain: null }));
  const bytecode = (await chain.getCode({ address: contractAddress as Address })) ?? "0x";
  await chain.setCode({ address: stack.info.contracts["Stablecoin"] as Address, bytecode });
}
