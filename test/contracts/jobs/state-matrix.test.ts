/** Every state a job can be in × every call that could move it: legal moves end where they should, all others revert. */
import { expect } from "chai";
import { ethers, nextBlockAt, now, prepared } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld, rich } from "../support/fresh.ts";
import { type Job, storedJob } from "../support/jobs.ts";
import { MOVES } from "../support/moves.ts";
import { STATES, STATUSES, type State, statusOf } from "../support/states.ts";
import { OPERATOR, type World } from "../support/world.ts";

/** Money and job of a world, to show that a call without effect changed nothing. */
async function everything(world: World, job: Job) {
  const { escrow, token, registry, client, worker } = world;
  return [
    await storedJob(world, job.id),
    await escrow.disputeOf(job.id),
    await escrow.compensationOf(job.id),
    await escrow.operatorOf(OPERATOR),
    await escrow.accountOf(client.address),
    await escrow.liabilities(),
    await token.balanceOf(escrow),
    (await registry.workerAt(worker.id)).stake,
  ];
}

for (const state of Object.keys(STATES) as State[]) {
  describe(`A job that is ${state}`, () => {
    async function inState() {
      // What happens when the treasury cannot pay is told in disputes/debt.test.ts.
      const world = await rich(freshWorld());
      return { world, job: await STATES[state](world) };
    }

    for (const { name, after = 0, send, from } of MOVES) {
      const outcome = from[state];
      it(`${name}: ${outcome}`, async () => {
        const { world, job } = await prepared(inState);
        const time = job.lockedAt + after;
        if (time > (await now())) await nextBlockAt(time);
        if (outcome.includes("_")) {
          const args = outcome === "Job_WrongState" ? [job.id, STATUSES.indexOf(statusOf(state))] : [];
          await expectRevert(send(world, job), outcome, ...args);
        } else if (outcome === "same") {
          const before = await everything(world, job);
          await expect(send(world, job)).not.to.revert(ethers);
          expect(await everything(world, job)).to.deep.equal(before);
        } else {
          await expect(send(world, job)).not.to.revert(ethers);
          expect(STATUSES[Number((await world.escrow.jobOf(job.id)).status)]).to.equal(outcome);
        }
      });
    }
  });
}
