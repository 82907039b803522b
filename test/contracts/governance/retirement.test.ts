/** A model retired by a real vote: proposed, voted, queued and executed; it works until its date and not after. */
import { expect } from "chai";
import { nextBlockAt, now } from "../support/chain.ts";
import {
  freshGovernedWorld,
  hashed,
  queuedProposal,
  timelockDelay,
  votingDelay,
  votingPeriod,
} from "../support/governance.ts";
import { lockJob, sendComplete, sendLock } from "../support/jobs.ts";
import { MODEL, OTHER_MODEL, type World } from "../support/world.ts";

const DAY = 86_400;
const NOTICE = 14 * DAY;

/** The vote to retire the model at `retiresAt`, ready to be executed. */
async function retirementQueued(world: World, retiresAt: number) {
  const data = world.catalog.interface.encodeFunctionData("scheduleRetirement", [MODEL, retiresAt]);
  return await queuedProposal(world, [[world.catalog, data]], "Retire llama-3.3-70b-instruct");
}

/** A date some days after what a vote and the notice take together. */
async function aGoodDate(): Promise<number> {
  return (await now()) + votingDelay + votingPeriod + timelockDelay + NOTICE + 3 * DAY;
}

describe("The retirement of a model by vote", () => {
  it("needs fourteen days from its execution, not a second less", async () => {
    const world = await freshGovernedWorld();
    const { catalog, governor, stranger } = world;
    const retiresAt = await aGoodDate();
    const proposal = await retirementQueued(world, retiresAt);
    // 13 days, 23:59:59 ahead: the catalog refuses, whatever the vote said.
    await nextBlockAt(retiresAt - NOTICE + 1);
    await expect(governor.connect(stranger).execute(...hashed(proposal)))
      .to.be.revertedWithCustomError(catalog, "Catalog_NoticeTooShort")
      .withArgs(retiresAt, retiresAt + 1);
    expect((await catalog.modelAt(MODEL)).retiresAt).to.equal(0);
  });

  it("is taken fourteen days ahead; until its date the model works and from it on it does not", async () => {
    const world = await freshGovernedWorld();
    const { escrow, catalog, governor, token, stranger, worker } = world;
    const retiresAt = await aGoodDate();
    const proposal = await retirementQueued(world, retiresAt);
    expect((await catalog.modelAt(MODEL)).retiresAt).to.equal(0);
    await nextBlockAt(retiresAt - NOTICE);
    await expect(governor.connect(stranger).execute(...hashed(proposal)))
      .to.emit(catalog, "RetirementScheduled")
      .withArgs(MODEL, 2, retiresAt);
    expect(await catalog.termsOf(MODEL)).to.not.equal(0);

    await nextBlockAt(retiresAt - 1);
    const last = await lockJob(world);
    await nextBlockAt(retiresAt);
    await expect(sendLock(world)).to.be.revertedWithCustomError(escrow, "Job_ModelNotActive").withArgs(MODEL);
    expect(await catalog.termsOf(MODEL)).to.equal(0);
    // What was locked in time is answered and paid on its terms, and the other models go on.
    await nextBlockAt(retiresAt + 60);
    await expect(sendComplete(world, last)).to.emit(escrow, "JobSettled");
    expect(await token.balanceOf(worker.payout)).to.equal(540_000);
    await sendLock(world, { model: OTHER_MODEL });
  });

  it("is final once its date has come", async () => {
    const world = await freshGovernedWorld();
    const { catalog, governor, stranger } = world;
    const retiresAt = await aGoodDate();
    const proposal = await retirementQueued(world, retiresAt);
    await nextBlockAt(retiresAt - NOTICE);
    await governor.connect(stranger).execute(...hashed(proposal));
    await nextBlockAt(retiresAt);
    const data = catalog.interface.encodeFunctionData("scheduleRetirement", [MODEL, retiresAt + 400 * DAY]);
    const again = await queuedProposal(world, [[catalog, data]], "Bring it back");
    await nextBlockAt(again.readyAt);
    await expect(governor.connect(stranger).execute(...hashed(again)))
      .to.be.revertedWithCustomError(catalog, "Catalog_AlreadyRetired")
      .withArgs(MODEL);
  });
});
