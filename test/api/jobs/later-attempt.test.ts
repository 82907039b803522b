/**
 * A worker takes a job on chain, stays silent towards its gateway, and waits for its replacement's hash to prove it
 * first. It never succeeds: the gateway gives the job to the replacement on chain before anybody sees that hash.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type Abi, createWalletClient, decodeFunctionData, encodeFunctionData, type Hex, http, parseGwei } from "viem";
import { afterAll, beforeAll, expect, it } from "vitest";
import { answerHash } from "../../../protocol/answer-hash.ts";
import type { Dispatch } from "../../../protocol/dispatch.ts";
import { inferenceEscrowAbi } from "../../../protocol/generated/abi.ts";
import { toApiJobId } from "../../../protocol/job-id.ts";
import { ChainStatus } from "../../../protocol/job-status.ts";
import { type Completion, compactSignature } from "../../../protocol/messages.ts";
import { receiptOf } from "../../../protocol/receipt.ts";
import { PARTS } from "../../../scripts/dev/stack.ts";
import { GATEWAY } from "../../../scripts/dev/wallets.ts";
import { apiClient, chat, eventually } from "../../support/api-client.ts";
import { type ChainReader, chainReader } from "../../support/chain-reader.ts";
import { giveGas } from "../../support/gas.ts";
import { mined } from "../../support/mined.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";
import { event, PlayedWorker } from "../../worker/support/played-worker.ts";

const MODEL = "qwen3-8b";
const TEXT = "The answer of the second worker.";

let stack: TestStack;
let chain: ChainReader;
let workers: [PlayedWorker, PlayedWorker];

beforeAll(async () => {
  stack = await startTestStack({
    // Nothing here is read from the index.
    parts: PARTS.filter((part) => part !== "indexer"),
    workers: [
      { models: [MODEL], start: false },
      { models: [MODEL], start: false },
    ],
    env: { api: { ACKNOWLEDGE_SECONDS: "4" } },
  });
  chain = chainReader(stack);
  workers = [await PlayedWorker.start(stack, 1), await PlayedWorker.start(stack, 2)];
  for (const { address } of workers) await giveGas(stack, address);
  await workers[0].isOffered(MODEL, 2);
});
afterAll(async () => {
  for (const worker of workers ?? []) await worker.stop();
  await stack?.remove();
});

const rpc = (method: string, params: unknown[] = []) =>
  chain.client.request({ method: method as never, params: params as never });

/** Sends a call of the escrow as a worker, for a fee that puts it before others'. The gas is given: what would revert is sent as well. */
function send(worker: PlayedWorker, functionName: string, args: unknown[]): Promise<Hex> {
  const wallet = createWalletClient({ account: worker.account, transport: http(stack.info.rpc_url) });
  const data = encodeFunctionData({ abi: inferenceEscrowAbi as Abi, functionName, args });
  const fees = { maxFeePerGas: parseGwei("200"), maxPriorityFeePerGas: parseGwei("100") };
  return wallet.sendTransaction({ to: chain.escrow, data, gas: 1_000_000n, chain: null, ...fees });
}

/** Calls of the gateway that wait to be mined, as whoever listens to the network sees them. */
async function waiting(): Promise<{ functionName: string; args: readonly unknown[] }[]> {
  const { pending } = (await rpc("txpool_content")) as { pending: Record<string, Record<string, { input: Hex }>> };
  const own = Object.entries(pending).find(([sender]) => sender.toLowerCase() === GATEWAY.address.toLowerCase());
  return Object.values(own?.[1] ?? {}).flatMap(({ input }) => {
    const { args } = decodeFunctionData({ abi: inferenceEscrowAbi, data: input });
    return ((args?.[0] ?? []) as Hex[]).map((data) => {
      const call = decodeFunctionData({ abi: inferenceEscrowAbi, data });
      return { functionName: call.functionName, args: call.args ?? [] };
    });
  });
}

it("a silent first worker cannot be paid for its replacement's answer", async () => {
  let silent: PlayedWorker | undefined;
  const { promise: answered, resolve: answer } = Promise.withResolvers<PlayedWorker>();
  for (const worker of workers) {
    worker.play(async (offer: Dispatch, response) => {
      const byWorker = JSON.parse((await worker.acknowledgement(offer)).split("data: ")[1] as string).signature;
      if (offer.assignment.attempt === 1) {
        silent = worker;
        const signatures = [compactSignature(offer.signature), compactSignature(byWorker)];
        await mined(chain.client, await send(worker, "acknowledge", [offer.assignment, ...signatures]));
        return;
      }
      // From here on nothing is mined unless the test says so.
      await rpc("evm_setAutomine", [false]);
      response.write(event("acknowledged", { signature: byWorker }));
      response.write(event("delta", { content: TEXT }));
      const { timestamp } = await chain.client.getBlock();
      response.end(event("completed", await worker.completion(offer, TEXT, { completedAt: Number(timestamp) })));
      answer(worker);
    });
  }
  const asked = apiClient(stack).post("/v1/chat/completions", chat(MODEL, "Hello"));
  const honest = await answered;
  const first = silent as PlayedWorker;
  const { jobId } = (first.offers[0] as Dispatch).assignment;
  const job = () => chain.job(toApiJobId(jobId));
  const own = await job();
  expect([own.status, own.attempt]).toEqual([ChainStatus.Acknowledged, 1]);

  // The gateway has the whole answer, and shows nothing of it: it first takes the job from the silent worker.
  await eventually(waiting, (calls) => calls.length > 0);
  await sleep(1_500);
  expect((await waiting()).map(({ functionName }) => functionName)).toEqual(["acknowledge"]);
  expect(JSON.stringify(await rpc("txpool_content"))).not.toContain(answerHash(TEXT).slice(2));
  await rpc("evm_mine");
  expect(await job()).toMatchObject({ status: ChainStatus.Acknowledged, attempt: 2 });

  // Now the hash is public. Copied and mined before the settlement, it proves nothing any more.
  const [settlement] = await eventually(waiting, (calls) => calls.length > 0);
  expect(settlement?.functionName).toBe("complete");
  const { completion } = await first.completion(first.offers[0] as Dispatch, TEXT, settlement?.args[0] as Completion);
  const copied = await first.completion(first.offers[0] as Dispatch, TEXT, completion);
  const hash = await send(first, "submitProof", [copied.completion, compactSignature(copied.signature)]);
  await rpc("evm_setAutomine", [true]);
  await rpc("evm_mine");
  const { status } = await receiptOf(chain.client, hash, { timeout: 60_000, interval: 50 });
  expect(status).toBe("reverted");

  const reply = await asked;
  expect([reply.status, reply.headers.get("x-service-worker")]).toEqual([200, honest.address]);
  expect(reply.body.choices[0].message.content).toBe(TEXT);
  expect(await eventually(job, ({ status }) => status === ChainStatus.Settled)).toMatchObject({ attempt: 2 });
  const [settled] = await chain.client.getContractEvents({
    address: chain.escrow,
    abi: inferenceEscrowAbi,
    eventName: "JobSettled",
    args: { jobId },
    fromBlock: 0n,
  });
  expect(settled?.args).toMatchObject({ worker: honest.address, proofHash: answerHash(TEXT) });
  expect((await chain.client.getTransaction({ hash })).blockNumber).toBeLessThanOrEqual(settled?.blockNumber as bigint);
});
