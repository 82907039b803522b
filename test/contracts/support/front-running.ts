/** Calls that wait in the mempool, what a stranger can put in front of them, and how strangers bring a job to its end. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { items } from "./batch.ts";
import { type Books, books } from "./books.ts";
import { ethers, mineAt, networkHelpers, now } from "./chain.ts";
import type { Job } from "./jobs.ts";
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
  const { worker, client, treasury } = world;
  const make = items(world);
  const attacks: Record<string, string> = {
    acknowledge: await make.acknowledge(job),
    refund: make.refund(job),
    joinDispute: make.joinDispute(job),
    expire: make.expire(job),
    collectDebt: make.collectDebt(job),
  };
  if (answered) {
    attacks["submitProof"] = await make.submitProof(job);
    attacks["finalize"] = make.finalize(job);
    attacks["openDispute"] = await make.openDispute(job);
    attacks["proveEquivocation of one Completion"] = await make.proveEquivocation(job, {});
  }
  const claims = [worker.payout, client.address, await treasury.getAddress()].map(make.claim);
  const all = [...Object.values(attacks), ...claims];
  attacks["claims of worker, wallet and treasury"] = make.execute(claims);
  attacks["all of them in a batch"] = make.execute(all);
  attacks["all of them in a batch, the other way round"] = make.execute(all.toReversed());
  return attacks;
}

/** A stranger ends the job, whatever state it is in, and has everybody paid: one batch after each deadline there is. */
export async function endByStrangers(world: World, job: Job): Promise<Books> {
  const { escrow, stranger, worker, client, treasury } = world;
  const make = items(world);
  const enders = [
    make.refund(job),
    make.finalize(job),
    make.expire(job),
    make.collectDebt(job),
    ...[worker.payout, client.address, await treasury.getAddress()].map(make.claim),
  ];
  // After the time for a proof, for the finalization of one, and for a ruling on it.
  for (const deadline of [150, 150 + 3_600, 150 + 3_600 + 86_400]) {
    if (job.lockedAt + deadline > (await now())) await mineAt(job.lockedAt + deadline);
    await escrow.connect(stranger).execute(enders, { gasLimit: 16_000_000n });
  }
  return await books(world);
}
