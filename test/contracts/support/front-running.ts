/** Calls that wait in the mempool, what a stranger can put in front of them, and how strangers bring a job to its end. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import type { Completion } from "../../../protocol/messages.ts";
import { type Books, books } from "./books.ts";
import { ethers, mineAt, networkHelpers, now } from "./chain.ts";
import { OTHER_HASH } from "./disputes.ts";
import { acknowledgement, completionOf, type Job } from "./jobs.ts";
import { signCompletion } from "./sign.ts";
import type { World } from "./world.ts";

/** A transaction that is not sent yet. */
export type Pending = { from: HardhatEthersSigner; to: string; data: string };

const GAS = 8_000_000n;
const GWEI = 10n ** 9n;

/** Mines the transactions in one block at `time`, in the given order, and tells which ones succeeded. */
export async function inOneBlock(time: number, transactions: readonly Pending[]): Promise<boolean[]> {
  await ethers.provider.send("evm_setAutomine", [false]);
  try {
    const sent = [];
    for (const [i, { from, to, data }] of transactions.entries()) {
      // The better price goes first.
      const gasPrice = BigInt(100 - i) * GWEI;
      sent.push(await from.sendTransaction({ to, data, gasPrice, gasLimit: GAS }));
    }
    await networkHelpers.time.setNextBlockTimestamp(time);
    await networkHelpers.mine();
    const receipts = await Promise.all(sent.map(({ hash }) => ethers.provider.getTransactionReceipt(hash)));
    const [first] = receipts;
    for (const [i, receipt] of receipts.entries()) {
      if (receipt === null || receipt.index !== i || receipt.blockNumber !== first?.blockNumber) {
        throw new Error(`transaction ${i} was not mined in its place: ${receipt?.blockNumber} ${receipt?.index}`);
      }
    }
    return receipts.map((receipt) => receipt?.status === 1);
  } finally {
    await ethers.provider.send("evm_setAutomine", [true]);
  }
}

/** What a stranger may send about a job, with every signature that is public once a call of the job waits in the mempool. */
export async function attacksOn(world: World, job: Job, answered: boolean): Promise<Record<string, string>> {
  const { escrow, worker, client, treasury } = world;
  const code = escrow.interface;
  const completion = completionOf(job);
  const byWorker = await signCompletion(escrow, worker.key, completion);
  const attacks: Record<string, string> = {
    acknowledge: code.encodeFunctionData("acknowledge", [...(await acknowledgement(world, job))]),
    refund: code.encodeFunctionData("refund", [job.id]),
    joinDispute: code.encodeFunctionData("joinDispute", [job.id, OTHER_HASH]),
    expire: code.encodeFunctionData("expire", [job.id]),
    collectDebt: code.encodeFunctionData("collectDebt", [job.id]),
    "claim of the worker": code.encodeFunctionData("claim", [worker.payout]),
    "claim of the wallet": code.encodeFunctionData("claim", [client.address]),
    "claim of the treasury": code.encodeFunctionData("claim", [await treasury.getAddress()]),
  };
  if (answered) {
    attacks["submitProof"] = code.encodeFunctionData("submitProof", [completion, byWorker]);
    attacks["finalize"] = code.encodeFunctionData("finalize", [completion]);
    attacks["openDispute"] = code.encodeFunctionData("openDispute", [OTHER_HASH, completion, byWorker]);
    attacks["proveEquivocation of one Completion"] = code.encodeFunctionData("proveEquivocation", [
      completion,
      byWorker,
      completion,
      byWorker,
    ]);
  }
  const all = Object.values(attacks);
  attacks["all of them in a batch"] = code.encodeFunctionData("execute", [all]);
  attacks["all of them in a batch, the other way round"] = code.encodeFunctionData("execute", [all.toReversed()]);
  return attacks;
}

/** A stranger ends the job, whatever state it is in, and has everybody paid: one batch after each deadline there is. */
export async function endByStrangers(world: World, job: Job, completions: readonly Completion[]): Promise<Books> {
  const { escrow, stranger, worker, client, treasury } = world;
  const code = escrow.interface;
  const enders = [
    code.encodeFunctionData("refund", [job.id]),
    ...completions.map((completion) => code.encodeFunctionData("finalize", [completion])),
    code.encodeFunctionData("expire", [job.id]),
    code.encodeFunctionData("collectDebt", [job.id]),
    ...[worker.payout, client.address, await treasury.getAddress()].map((payee) =>
      code.encodeFunctionData("claim", [payee]),
    ),
  ];
  // After the time for a proof, for the finalization of one, and for a ruling on it.
  for (const deadline of [150, 150 + 3_600, 150 + 3_600 + 86_400]) {
    if (job.lockedAt + deadline > (await now())) await mineAt(job.lockedAt + deadline);
    await escrow.connect(stranger).execute(enders, { gasLimit: 16_000_000n });
  }
  return await books(world);
}
