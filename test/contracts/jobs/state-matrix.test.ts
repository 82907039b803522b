/** Every state a job can be in × every call that could move it: legal moves end where they should, all others revert. */
import { expect } from "chai";
import { ethers, nextBlockAt, now, prepared } from "../support/chain.ts";
import { freshWorld } from "../support/fresh.ts";
import { type Job, storedJob } from "../support/jobs.ts";
import { MOVES, type Outcome } from "../support/moves.ts";
import { STATES, STATUSES, type State, statusOf } from "../support/states.ts";
import { OPERATOR, type World } from "../support/world.ts";

/** Money and job of a world, to show that a refused call changed nothing. */
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

/** The contract whose error it is. */
function authorOf({ escrow, registry, panel }: World, error: Outcome) {
  if (error.startsWith("Registry_")) return registry;
  return error.startsWith("Panel_") ? panel : escrow;
}

for (const state of Object.keys(STATES) as State[]) {
  describe(`A job that is ${state}`, () => {
    async function inState() {
      const world = await freshWorld();
      // A treasury that can pay: what happens when it cannot is told in disputes/debt.test.ts.
      await world.token.mint(world.treasury, 10_000_000n);
      return { world, job: await STATES[state](world) };
    }

    for (const { name, after = 0, send, from } of MOVES) {
      const outcome = from[state];
      it(`${name}: ${outcome}`, async () => {
        const { world, job } = await prepared(inState);
        const before = await everything(world, job);
        const time = job.lockedAt + after;
        if (time > (await now())) await nextBlockAt(time);
        if (!outcome.includes("_")) {
          await expect(send(world, job)).not.to.revert(ethers);
        } else {
          const reverting = expect(send(world, job)).to.be.revertedWithCustomError(authorOf(world, outcome), outcome);
          if (outcome === "Job_WrongState") await reverting.withArgs(job.id, STATUSES.indexOf(statusOf(state)));
          else await reverting;
        }
        if (outcome === "same" || outcome.includes("_")) {
          expect(await everything(world, job)).to.deep.equal(before);
        } else {
          expect(STATUSES[Number((await world.escrow.jobOf(job.id)).status)]).to.equal(outcome);
        }
      });
    }
  });
}
