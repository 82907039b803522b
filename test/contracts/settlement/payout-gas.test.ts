/** A caught transfer gets the whole gas that it may use, whoever chooses the gas of the call: at the limit, not a unit less. */

import { expect } from "chai";
import { ethers } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import { freshHostileWorld } from "../support/fresh.ts";
import { Behaviour } from "../support/hostile.ts";
import { lockJob, sendComplete } from "../support/jobs.ts";

/** What BoundedCall hands to one transfer. */
const CALL_GAS = 150_000;

type Step = { depth: number; gas: number | string };

/** Gas with which the first call out of the contract began. */
async function firstCallGas(hash: string): Promise<number> {
  const trace = await ethers.provider.send("debug_traceTransaction", [hash, { disableStorage: true }]);
  const inner = (trace.structLogs as Step[]).find(({ depth }) => depth === 2);
  return Number(inner?.gas);
}

describe("The gas of a caught transfer", () => {
  it("is all of it at the least gas with which a claim goes through; with one unit less, the claim is refused by name", async () => {
    const { world, escrow, hostile, worker, stranger } = await freshHostileWorld();
    await hostile.setBehaviour(worker.payout, Behaviour.Revert);
    await sendComplete(world, await lockJob(world));
    await hostile.setBehaviour(worker.payout, Behaviour.Standard);
    const claim = escrow.connect(stranger).claim;
    const suffices = (gasLimit: bigint) =>
      claim.staticCall(worker.payout, { gasLimit }).then(
        () => true,
        () => false,
      );

    let [low, high] = [100_000n, 400_000n];
    expect([await suffices(low), await suffices(high)]).to.deep.equal([false, true]);
    while (high - low > 1n) {
      const middle = (low + high) / 2n;
      if (await suffices(middle)) high = middle;
      else low = middle;
    }
    await expectRevert(claim(worker.payout, { gasLimit: low }), "BoundedCall_OutOfGas");
    const { hash } = await claim(worker.payout, { gasLimit: high });
    // EIP-150 keeps a 64th of what is left: the floor must count it in, or the token gets less than its gas.
    expect(await firstCallGas(hash)).to.equal(CALL_GAS);
    expect(await hostile.balanceOf(worker.payout)).to.equal(540_000n);
  });
});
