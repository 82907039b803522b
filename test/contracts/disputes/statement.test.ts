/** What stands behind the arguments of `openDispute` is for arbiters to read: the contract takes the call as if it were not there. */
import { expect } from "chai";
import { type Hex, keccak256, toBytes } from "viem";
import { withDelivery } from "../../../protocol/delivery.ts";
import { executeBatch, items } from "../support/batch.ts";
import { disputedJob, settledJob, storedDispute } from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import { type Job, PROOF_HASH } from "../support/jobs.ts";
import type { World } from "../support/world.ts";

/** A word like any signature's. */
const WORD = keccak256(toBytes("a word"));

/** The operator's call for a settled job, without and with a statement. */
async function calls(world: World, job: Job): Promise<{ plain: Hex; stated: Hex }> {
  const plain = (await items(world).openDispute(job)) as Hex;
  const signature = { r: WORD, vs: WORD };
  return {
    plain,
    stated: withDelivery(plain, { jobId: job.id as Hex, sentHash: PROOF_HASH, complete: true, signature }),
  };
}

const openedEvent = async ({ escrow }: World, tx: { hash: string; wait: () => Promise<unknown> }) => {
  await tx.wait();
  const events = await escrow.queryFilter(escrow.filters.JobDisputed());
  const { args } = events.find(({ transactionHash }) => transactionHash === tx.hash) as (typeof events)[number];
  return { receivedHash: args.receivedHash, workerHash: args.workerHash, byOperator: args.byOperator, bond: args.bond };
};

describe("A statement behind openDispute", () => {
  it("changes nothing of the dispute, alone and in a batch", async () => {
    const { world, escrow, gateway } = await freshWorld();
    const [one, two, three] = [await settledJob(world), await settledJob(world), await settledJob(world)];
    const to = await escrow.getAddress();
    const plain = await gateway.sendTransaction({ to, data: (await calls(world, one)).plain });
    const stated = await gateway.sendTransaction({ to, data: (await calls(world, two)).stated });
    expect(await openedEvent(world, stated)).to.deep.equal(await openedEvent(world, plain));
    const { failures } = await executeBatch(world, gateway, [(await calls(world, three)).stated]);
    expect(failures).to.deep.equal([]);
    const [first, ...others] = await Promise.all([one, two, three].map((job) => storedDispute(world, job)));
    // Each was opened in its own second.
    const timeless = (dispute: Record<string, unknown> | undefined) => ({ ...dispute, openedAt: 0, ruleFrom: 0 });
    for (const other of others) expect(timeless(other)).to.deep.equal(timeless(first));
  });

  it("costs its calldata: less than 3,000 gas", async () => {
    const world = await freshWorld();
    const [one, two] = [await settledJob(world), await settledJob(world)];
    // The first dispute of an account pays for its counter.
    await disputedJob(world);
    const plain = await executeBatch(world, world.gateway, [(await calls(world, one)).plain]);
    const stated = await executeBatch(world, world.gateway, [(await calls(world, two)).stated]);
    expect(Number(stated.gasUsed - plain.gasUsed)).to.be.within(1, 2_999);
  });

  it("gives nobody a right: who may not dispute may not with a statement, and arguments cut short are none", async () => {
    const { world, escrow, stranger, otherGateway, gateway } = await freshWorld();
    const job = await settledJob(world);
    const { plain, stated } = await calls(world, job);
    for (const sender of [stranger, otherGateway]) {
      const { failures } = await executeBatch(world, sender, [stated]);
      expect(escrow.interface.parseError(failures[0]?.reason as string)?.name).to.equal("Dispute_NotAParty");
    }
    const short = await executeBatch(world, gateway, [plain.slice(0, -2), plain.slice(0, -64)]);
    expect(short.failures.map(({ reason }) => reason)).to.deep.equal(["0x", "0x"]);
    expect((await escrow.disputeOf(job.id)).openedAt).to.equal(0n);
  });
});
