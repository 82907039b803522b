/** Settled jobs by the thousand: locked and completed in batches, signed natively. */
import { encodeFunctionData, type Hex, parseEventLogs } from "viem";
import { anvil } from "viem/chains";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { jobDigests } from "../../../protocol/digests.ts";
import { inferenceEscrowAbi } from "../../../protocol/generated/abi.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import { compactSignature } from "../../../protocol/messages.ts";
import { toUnits } from "../../../protocol/money.ts";
import { OPERATOR } from "../../../scripts/dev/wallets.ts";
import { signingAccount } from "../../../shared/secp256k1.ts";
import { mined } from "../../support/mined.ts";
import { ANSWER, MODEL, type Protocol, people, WORKER_KEY } from "./protocol.ts";

/** What a job costs, and what its lock holds until then. */
const CREDITS = 8;
const MOST_CREDITS = 8;
const GAS = 29_000_000n;
const FOREVER = 2 ** 40 - 1;

/** Buys the stranger credits for `count` jobs and settles those, `batch` of them in a block: fuller blocks would raise the price of gas without end. */
export async function manyJobs(p: Protocol, count: number, batch = 100): Promise<void> {
  const worker = signingAccount(WORKER_KEY);
  const wallet = people.stranger.address;
  const credits = count * CREDITS + batch * MOST_CREDITS;
  await p.send(people.stranger, p.token, "mint", [wallet, toUnits(credits)]);
  await p.send(people.stranger, p.token, "approve", [p.escrow.address, toUnits(credits)]);
  await p.send(people.stranger, p.escrow, "deposit", [credits, OPERATOR]);
  const digests = jobDigests(p.chain.deployment.chainId, p.escrow.address);
  const proofHash = answerHash(ANSWER);
  const encode = (functionName: "lock" | "complete", args: readonly unknown[]): Hex =>
    encodeFunctionData({ abi: inferenceEscrowAbi, functionName, args } as never);
  const execute = async (items: Hex[]) => {
    const data = encodeFunctionData({ abi: inferenceEscrowAbi, functionName: "execute", args: [items] });
    const offer = { gas: GAS, maxFeePerGas: 10n ** 11n };
    const to = p.escrow.address;
    const receipt = await mined(
      p.rpc,
      await p.rpc.sendTransaction({ account: people.gateway, to, data, ...offer, chain: anvil }),
    );
    const failed = parseEventLogs({ abi: inferenceEscrowAbi, eventName: "BatchItemFailed", logs: receipt.logs });
    if (receipt.status !== "success" || failed.length > 0) throw new Error(`a batch failed: ${failed[0]?.args.reason}`);
  };
  for (let left = count; left > 0; left -= batch) {
    const jobs = Array.from({ length: Math.min(batch, left) }, () => newJobId());
    await execute(jobs.map((jobId) => encode("lock", [wallet, MODEL, jobId, 500, 1_000_000, FOREVER])));
    const completedAt = await p.now();
    const completions = await Promise.all(
      jobs.map(async (jobId) => {
        const tokens = { promptTokens: 7, completionTokens: 100, reasoningTokens: 0 };
        const completion = { jobId, proofHash, ...tokens, textBytes: 400, completedAt };
        const signature = compactSignature(await worker.sign({ hash: digests.completion(completion) }));
        return encode("complete", [completion, 100, signature, wallet]);
      }),
    );
    await execute(completions);
  }
}
