/** Disputes in batches: isolated like everything else, and nobody borrows a party's, the panel's or the wallet's authority. */
import { expect } from "chai";
import { executeBatch } from "../support/batch.ts";
import { nextBlockAt } from "../support/chain.ts";
import { disputedJob, disputedProvenJob, OTHER_HASH, Ruling, settledJob } from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgedJob, completionOf, type Job } from "../support/jobs.ts";
import { signCompletion } from "../support/sign.ts";
import { CLIENT_CREDITS, type World } from "../support/world.ts";

async function opening({ escrow, worker }: World, job: Job, receivedHash = OTHER_HASH): Promise<string> {
  const completion = completionOf(job);
  const signature = await signCompletion(escrow, worker.key, completion);
  return escrow.interface.encodeFunctionData("openDispute", [receivedHash, completion, signature]);
}

async function accusing({ escrow, worker }: World, job: Job): Promise<string> {
  const [one, two] = [completionOf(job), completionOf(job, { proofHash: OTHER_HASH })];
  return escrow.interface.encodeFunctionData("proveEquivocation", [
    one,
    await signCompletion(escrow, worker.key, one),
    two,
    await signCompletion(escrow, worker.key, two),
  ]);
}

describe("Disputes in a batch", () => {
  it("are opened for several jobs, and one that is refused does not stop the others", async () => {
    const world = await freshWorld();
    const { escrow, gateway } = world;
    const jobs = [await settledJob(world), await settledJob(world), await settledJob(world)] as const;
    const batch = [
      await opening(world, jobs[0]),
      await opening(world, jobs[1], completionOf(jobs[1]).proofHash),
      await opening(world, jobs[2]),
    ];
    const { failures } = await executeBatch(world, gateway, batch);
    expect(failures.map(({ index, reason }) => [index, reason])).to.deep.equal([
      [1, escrow.interface.encodeErrorResult("Dispute_SameHash", [jobs[1].id])],
    ]);
    const states = await Promise.all(jobs.map(async ({ id }) => (await escrow.jobOf(id)).status));
    expect(states).to.deep.equal([7n, 4n, 7n]);
  });

  it("stop at the limit of eight inside one batch", async () => {
    const world = await freshWorld();
    const { escrow, gateway, client } = world;
    const batch = [];
    for (let i = 0; i < 9; i++) batch.push(await opening(world, await settledJob(world)));
    const { failures } = await executeBatch(world, gateway, batch);
    expect(failures.map(({ index, reason }) => [index, reason])).to.deep.equal([
      [8, escrow.interface.encodeErrorResult("Dispute_TooMany", [client.address])],
    ]);
  });

  it("are ended by a stranger: expired, shown, finalized and collected in one transaction", async () => {
    const world = await freshWorld();
    const { escrow, stranger, client, token, treasury } = world;
    await token.mint(treasury, 10_000_000n);
    const [settled, proven] = [await disputedJob(world), await disputedProvenJob(world)];
    await nextBlockAt(proven.openedAt + 86_400 - 40);
    const accused = await acknowledgedJob(world);
    await nextBlockAt(proven.openedAt + 86_400);
    const { failures } = await executeBatch(world, stranger, [
      escrow.interface.encodeFunctionData("expire", [settled.id]),
      escrow.interface.encodeFunctionData("expire", [proven.id]),
      await accusing(world, accused),
    ]);
    expect(failures).to.deep.equal([]);
    const states = await Promise.all([settled, proven, accused].map(async ({ id }) => (await escrow.jobOf(id)).status));
    expect(states).to.deep.equal([4n, 6n, 6n]);
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS - 54);
  });
});

describe("Authority over disputes in a batch", () => {
  it("is the caller's: a stranger opens, rules and limits nothing", async () => {
    const world = await freshWorld();
    const { escrow, stranger, client } = world;
    const [settled, disputed] = [await settledJob(world), await disputedJob(world)];
    const { failures } = await executeBatch(world, stranger, [
      await opening(world, settled),
      escrow.interface.encodeFunctionData("rule", [disputed.id, Ruling.WorkerAtFault]),
      escrow.interface.encodeFunctionData("setLimits", [false, 0, true]),
      escrow.interface.encodeFunctionData("setPaused", [true]),
      escrow.interface.encodeFunctionData("execute", [[await opening(world, settled)]]),
    ]);
    expect(failures.map(({ reason }) => escrow.interface.parseError(reason)?.name)).to.deep.equal([
      "Dispute_NotAParty",
      "Dispute_NotThePanel",
      "Ledger_UnknownAccount",
      "Admin_NotGuardian",
      "Batch_Nested",
    ]);
    expect((await escrow.accountOf(client.address)).flags).to.equal(0);
  });

  it("does not let the escrow act on the registry, the treasury or the panel for a caller", async () => {
    const world = await freshWorld();
    const { registry, treasury, stranger } = world;
    const job = await settledJob(world);
    // Items are calls of the escrow to itself: functions of other contracts are not among them.
    const foreign = [
      registry.interface.encodeFunctionData("slash", [job.id, false]),
      treasury.interface.encodeFunctionData("compensate", [job.id, 1]),
      world.panel.interface.encodeFunctionData("vote", [job.id, Ruling.WorkerAtFault]),
    ];
    const { failures } = await executeBatch(world, stranger, foreign);
    expect(failures.map(({ index, reason }) => [index, reason])).to.deep.equal([
      [0, "0x"],
      [1, "0x"],
      [2, "0x"],
    ]);
    expect((await registry.workerAt(world.worker.id)).stake).to.equal(1_000_000_000);
  });
});
