/** A batch with too little gas reverts whole: no item ever fails for want of gas, and no payee is deferred for it. */

import { expect } from "chai";
import { type Call, expectAllOrNothing } from "../gas/sweep.ts";
import { jobId } from "../support/actors.ts";
import { executeBatch, items } from "../support/batch.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { lockJob } from "../support/jobs.ts";
import type { World } from "../support/world.ts";

const sending = ({ escrow, gateway }: World, batch: string[]): Call => ({
  from: gateway,
  to: escrow,
  data: escrow.interface.encodeFunctionData("execute", [batch]),
});

describe("Gas of a batch", () => {
  it("is refused by name below the floor of the next item", async () => {
    const { world, escrow, gateway } = await freshWorld();
    const batch = [items(world).lock()];
    const floor = await escrow.ITEM_GAS();
    await expectRevert(escrow.connect(gateway).execute(batch, { gasLimit: floor }), "Batch_OutOfGas");
    await escrow.connect(gateway).execute(batch, { gasLimit: floor + 40_000n });
  });

  it("never cuts a batch in two: each limit gives all items or none", async () => {
    const { world, escrow, token, worker } = await freshWorld();
    const make = items(world);
    const [first, second] = [await lockJob(world), await lockJob(world)];
    const id = jobId();
    const batch = [await make.complete(first), make.lock(id), await make.complete(second)];
    await expectAllOrNothing(sending(world, batch), { from: 600_000, to: 1_000_000, steps: 40 });
    expect((await executeBatch(world, world.gateway, batch, 1_000_000n)).failures).to.deep.equal([]);
    expect((await escrow.jobOf(id)).status).to.equal(1);
    expect(await token.balanceOf(worker.payout)).to.equal(2n * 540_000n);
  });
});
