/** A worker that signed two answers: its client is told, has the protocol's fee, and disputes without a bond. The worker loses its stake. */
import { type Address, createPublicClient, createWalletClient, type Hex, http } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect } from "vitest";
import type { SignedStatement } from "../../api/routes/completion.ts";
import { answerHash } from "../../protocol/answer-hash.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { compactSignature, escrowDomain, jobMessageTypes } from "../../protocol/messages.ts";
import { chat, eventually } from "../support/api-client.ts";
import { chainReader } from "../support/chain-reader.ts";
import { Client, openStore } from "../support/client.ts";
import { richAccount } from "../support/gas.ts";
import { mined } from "../support/mined.ts";
import { startTestStack } from "../support/stack.ts";
import { MODEL } from "./global-setup.ts";
import { it as base, describeInBrowser, type WebStack } from "./support/browser.ts";
import type { Visitor } from "./support/visitor.ts";

/** Its worker is found guilty and takes no job afterwards: no other file may use it. */
// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures this one needs
const it = base.extend("stack", { scope: "file" }, async ({}, { onCleanup }): Promise<WebStack> => {
  const stack = await startTestStack({ workers: [{ models: [MODEL] }] });
  onCleanup(() => stack.remove());
  return stack;
});

/** 2 credits, of which the protocol has a tenth. */
const FEE = 2_000n;

describeInBrowser("a worker that signed two answers", () => {
  let visitor: Visitor;
  let jobId: string;

  it.beforeAll(async ({ stack, open }) => {
    const database = openStore(stack);
    const { api, account } = await Client.funded(stack, database, 100);
    await database.end();
    const reply = await api.post("/v1/chat/completions", chat(MODEL, "Say hello."));
    if (reply.status !== 200) throw new Error(`no answer: ${JSON.stringify(reply.body)}`);
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

/** Has the worker's key sign a second answer, and shows both to the contract. */
async function punish(stack: WebStack, { completion, signature }: SignedStatement): Promise<void> {
  const worker = privateKeyToAccount(stack.workers[0]?.privateKey as Hex);
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
