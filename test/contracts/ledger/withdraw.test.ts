import { expect } from "chai";
import { ethers } from "../support/chain.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshHostileWorld, freshWorld } from "../support/fresh.ts";
import { Behaviour } from "../support/hostile.ts";
import { LOCK_CREDITS, lockJob } from "../support/jobs.ts";
import { CLIENT_CREDITS, RESERVE_CREDITS } from "../support/world.ts";

describe("withdraw", () => {
  it("pays free credits out to any receiver", async () => {
    const { escrow, token, client, stranger } = await freshWorld();
    const withdrawal = escrow.connect(client).withdraw(1, stranger.address);
    await expectTokens(withdrawal, token, [escrow, stranger], [-10_000n, 10_000n]);
    await expect(withdrawal)
      .to.emit(escrow, "Withdrawn")
      .withArgs(1, client.address, stranger.address, 2, 1, CLIENT_CREDITS - 1, 0);
    expect(await escrow.liabilities()).to.deep.equal([BigInt(RESERVE_CREDITS + CLIENT_CREDITS - 1), 0n]);
  });

  it("refuses zero credits", async () => {
    const { escrow, client } = await freshWorld();
    await expectRevert(escrow.connect(client).withdraw(0, client.address), "Ledger_ZeroCredits");
  });

  it("gives the whole free balance and not a credit more", async () => {
    const { escrow, client } = await freshWorld();
    await expect(escrow.connect(client).withdraw(CLIENT_CREDITS + 1, client.address))
      .to.be.revertedWithCustomError(escrow, "Ledger_InsufficientCredits")
      .withArgs(client.address, CLIENT_CREDITS, CLIENT_CREDITS + 1);
    await escrow.connect(client).withdraw(CLIENT_CREDITS, client.address);
    expect((await escrow.accountOf(client.address)).free).to.equal(0);
  });

  it("leaves credits in escrow alone", async () => {
    const { world, escrow, client } = await freshWorld();
    await lockJob(world);
    const free = CLIENT_CREDITS - LOCK_CREDITS;
    await expect(escrow.connect(client).withdraw(free + 1, client.address))
      .to.be.revertedWithCustomError(escrow, "Ledger_InsufficientCredits")
      .withArgs(client.address, free, free + 1);
    await expect(escrow.connect(client).withdraw(free, client.address))
      .to.emit(escrow, "Withdrawn")
      .withArgs(1, client.address, client.address, 2, free, 0, LOCK_CREDITS);
  });

  it("is the wallet's own: a wallet without an account has nothing", async () => {
    const { escrow, stranger, gateway, owner } = await freshWorld();
    for (const other of [stranger, gateway, owner])
      await expectRevert(escrow.connect(other).withdraw(1, other.address), "Ledger_UnknownAccount", other.address);
  });

  it("refuses receivers that would lose the tokens", async () => {
    const { escrow, token, client } = await freshWorld();
    for (const receiver of [ethers.ZeroAddress, await escrow.getAddress(), await token.getAddress()])
      await expectRevert(escrow.connect(client).withdraw(1, receiver), "Ledger_InvalidReceiver", receiver);
  });

  it("changes nothing when the token refuses the receiver, who can then name another", async () => {
    const { escrow, hostile, client, stranger } = await freshHostileWorld();
    for (const behaviour of [Behaviour.Revert, Behaviour.ReturnFalse, Behaviour.BurnGas]) {
      await hostile.setBehaviour(client.address, behaviour);
      await expect(escrow.connect(client).withdraw(5, client.address)).to.revert(ethers);
    }
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS);
    await escrow.connect(client).withdraw(5, stranger.address);
    expect(await hostile.balanceOf(stranger.address)).to.equal(50_000);
  });

  it("cannot be re-entered by the token", async () => {
    const { escrow, hostile, client } = await freshHostileWorld();
    await hostile.setHook(
      await escrow.getAddress(),
      escrow.interface.encodeFunctionData("withdraw", [1, client.address]),
    );
    await escrow.connect(client).withdraw(1, client.address);
    expect(await hostile.hookResult()).to.equal(escrow.interface.encodeErrorResult("ReentrancyGuardReentrantCall", []));
  });
});
