/** A compensation counts what is owed, also when more than that arrives with it. */
import { expect } from "chai";
import { CHARGE_UNITS, disputedJob, Ruling, sendRuling } from "../support/disputes.ts";
import { freshHostileWorldWithoutReserve } from "../support/fresh.ts";
import { CLIENT_CREDITS } from "../support/world.ts";

describe("A compensation with which more arrives than is owed", () => {
  it("credits what is owed; the rest is nobody's, and no debt is below zero", async () => {
    const { world, escrow, hostile, treasury, client } = await freshHostileWorldWithoutReserve();
    const job = await disputedJob(world);
    await hostile.mint(treasury, 10_000_000n);
    const gift = hostile.interface.encodeFunctionData("mint", [await escrow.getAddress(), 1_000_000n]);
    await hostile.setHook(hostile, gift);
    await expect(sendRuling(world, job, Ruling.GatewayAtFault))
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, CHARGE_UNITS, 0, CLIENT_CREDITS, 0);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS, false]);
    const { credits, claimable } = await escrow.liabilities();
    expect(await hostile.balanceOf(escrow)).to.equal(credits * 10_000n + claimable + 1_000_000n);
  });
});
