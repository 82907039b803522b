/** A process that cannot sign must not live on: its operations would wait for ever. */
import { pino } from "pino";
import type { Hex } from "viem";
import { expect, it, vi } from "vitest";
import { lockOperation, NotSent } from "../../../../api/chain/operations.ts";
import { Pipeline } from "../../../../api/chain/pipeline.ts";
import type { Rpc } from "../../../../api/chain/rpc.ts";
import type { SigningContext } from "../../../../api/chain/transaction.ts";
import { newJobId } from "../../../../protocol/job-id.ts";

const address: Hex = `0x${"11".repeat(20)}`;
const lock = () =>
  lockOperation({ jobId: newJobId(), wallet: address, model: 1, maxTokens: 1, maxCredits: 1, validUntil: 9 });

/** A started pipeline on a node that mines nothing; the signer and its record are played. */
async function started(parts: { sign: () => Promise<string>; insert: () => unknown; fatal?: () => void }) {
  const outbox = {
    open: async () => [],
    lastNonce: async () => -1,
    lastMined: async () => -1,
    minedAbove: async () => [],
    insert: parts.insert,
  };
  const context = {
    account: { address, signTransaction: parts.sign },
    chainId: 1,
    escrow: address,
    head: { block: { baseFee: 1n } },
    outbox,
    bounds: { leastTip: 1n, feeCap: 100n, costCap: 10n ** 18n },
    maySend: () => true,
    term: () => 0,
    fatal: parts.fatal,
    logger: pino({ level: "silent" }),
  } as unknown as SigningContext;
  const node: Record<string, unknown> = { eth_getTransactionCount: "0x0", eth_getBlockByNumber: null };
  const rpc = { request: async (method: string) => node[method] } as unknown as Rpc;
  const pipeline = new Pipeline(context, rpc, { batchGas: 12_000_000n, sendsPerSecond: 100 });
  await (await pipeline.start()).recovered;
  return pipeline;
}

it("tells a transaction's hash only once it is recorded", async () => {
  const steps: string[] = [];
  const insert = () => {
    steps.push("recorded");
    return new Promise(() => {});
  };
  const pipeline = await started({ sign: async () => "0x10", insert });
  void pipeline.submit(lock()).signed.then(() => process.nextTick(() => steps.push("replied")));
  await expect.poll(() => steps).toEqual(["replied", "recorded"]);
});

it("when signing throws, everybody who waits is told, and the process ends", async () => {
  const fatal = vi.fn();
  const broken = new Error("the key is gone");
  const pipeline = await started({ sign: () => Promise.reject(broken), insert: () => expect.unreachable(), fatal });

  // The second waits behind the batch that fails.
  const submissions = [pipeline.submit(lock()), pipeline.submit(lock())];
  for (const { signed, mined } of submissions) {
    await expect(mined).rejects.toBeInstanceOf(NotSent);
    await expect(signed).rejects.toBeInstanceOf(NotSent);
  }
  expect(fatal).toHaveBeenCalledExactlyOnceWith(broken, expect.stringContaining("could not be signed"));
  await expect(pipeline.submit(lock()).mined).rejects.toBeInstanceOf(NotSent);
});
