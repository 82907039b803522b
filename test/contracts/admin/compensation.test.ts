/** The treasury as payer of compensations: on the escrow's word only, as far as its money goes. */

import { expect } from "chai";
import { jobId } from "../support/actors.ts";
import { ethers } from "../support/chain.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshBare } from "../support/fresh.ts";
import { actingAs } from "../support/impersonate.ts";

describe("Compensations of the treasury", () => {
  it("go to the escrow on the escrow's word, are counted, and end where the money ends", async () => {
    const { treasury, escrow, token, owner } = await freshBare();
    await token.mint(treasury, 1_000n);
    const mine = treasury.connect(await actingAs(escrow));
    const id = jobId();
    const paying = mine.compensate(id, 600);
    await expect(paying).to.emit(treasury, "CompensationPaid").withArgs(id, 1, 600);
    await expectTokens(paying, token, [treasury, escrow], [-600n, 600n]);
    await expect(treasury.connect(owner).pay(token, owner.address, 1)).to.emit(treasury, "TreasuryPaid");
    const short = mine.compensate(id, 600);
    await expect(short).to.emit(treasury, "CompensationPaid").withArgs(id, 3, 399);
    await expectTokens(short, token, [treasury, escrow], [-399n, 399n]);
    const empty = mine.compensate(id, 600);
    await expect(empty).not.to.emit(treasury, "CompensationPaid");
    await expect(mine.compensate(id, 0)).not.to.emit(treasury, "CompensationPaid");
  });

  it("have one escrow, for ever", async () => {
    const { treasury, escrow, token, owner, stranger } = await freshBare();
    expect(await treasury.escrow()).to.equal(await escrow.getAddress());
    await expectRevert(treasury.connect(owner).setEscrow(stranger), "Treasury_InvalidEscrow", stranger.address);
    const fresh = await ethers.deployContract("ProtocolTreasury", [owner, token]);
    await expectRevert(fresh.setEscrow(ethers.ZeroAddress), "Treasury_InvalidEscrow", ethers.ZeroAddress);
    await expect(fresh.setEscrow(stranger)).to.emit(fresh, "EscrowSet").withArgs(stranger.address);
  });
});
