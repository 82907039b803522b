import { expect } from "chai";
import { ethers } from "../support/chain.ts";
import { deployEscrow } from "../support/escrow-factory.ts";
import { expectRevert } from "../support/expect.ts";
import { freshBare, freshHostileWorld } from "../support/fresh.ts";
import { buyCredits, OPERATOR, provide } from "../support/world.ts";

const UNITS = 10_000n;

describe("deposit", () => {
  it("refuses 99 credits and takes 100", async () => {
    const { escrow, token, client } = await freshBare();
    await provide({ escrow, token }, client, 100n * UNITS);
    await expectRevert(escrow.connect(client).deposit(99, OPERATOR), "Ledger_DepositTooSmall", 99, 100);
    await expect(escrow.connect(client).deposit(100, OPERATOR))
      .to.emit(escrow, "Deposited")
      .withArgs(1, client.address, 1, 100, OPERATOR, 100, 0);
  });

  it("moves exactly 10,000 units of the caller per credit", async () => {
    const { escrow, token, client } = await freshBare();
    await provide({ escrow, token }, client, 5_000_000n);
    await expect(escrow.connect(client).deposit(123, OPERATOR)).to.changeTokenBalances(
      ethers,
      token,
      [client, escrow],
      [-1_230_000n, 1_230_000n],
    );
    expect(await escrow.liabilities()).to.deep.equal([123n, 0n]);
  });

  it("opens an account once, with ids in order, and counts its events", async () => {
    const { world, escrow, client, stranger } = await freshBare();
    await buyCredits(world, client, 100);
    await buyCredits(world, stranger, 200);
    await buyCredits(world, client, 300);
    const account = await escrow.accountOf(client.address);
    expect([account.id, account.sequence, account.free, account.escrowed]).to.deep.equal([1n, 2n, 400n, 0n]);
    expect((await escrow.accountOf(stranger.address)).id).to.equal(2);
    expect([await escrow.walletOf(1), await escrow.walletOf(2), await escrow.walletOf(3)]).to.deep.equal([
      client.address,
      stranger.address,
      ethers.ZeroAddress,
    ]);
  });

  it("needs the caller's allowance", async () => {
    const { escrow, token, client } = await freshBare();
    await provide({ escrow, token }, client, 100n * UNITS, 100n * UNITS - 1n);
    await expectRevert(escrow.connect(client).deposit(100, OPERATOR), "ERC20InsufficientAllowance");
    expect((await escrow.accountOf(client.address)).id).to.equal(0);
  });

  it("refuses a token that takes a fee, even one unit", async () => {
    const { world, escrow, hostile, stranger } = await freshHostileWorld();
    await provide(world, stranger, 100n * UNITS);
    await hostile.setFee(1);
    await expect(escrow.connect(stranger).deposit(100, OPERATOR))
      .to.be.revertedWithCustomError(escrow, "Ledger_InexactTransfer")
      .withArgs(100n * UNITS - 1n, 100n * UNITS);
  });

  it("cannot be re-entered by the token", async () => {
    const { escrow, token, hostile, stranger } = await freshHostileWorld();
    await provide({ escrow, token }, stranger, 100n * UNITS);
    await hostile.setHook(await escrow.getAddress(), escrow.interface.encodeFunctionData("deposit", [100, OPERATOR]));
    await escrow.connect(stranger).deposit(100, OPERATOR);
    expect(await hostile.hookSucceeded()).to.equal(false);
    expect(await hostile.hookResult()).to.equal(escrow.interface.encodeErrorResult("ReentrancyGuardReentrantCall", []));
  });

  it("accepts only a token of six decimals", async () => {
    const world = await freshBare();
    const token = await ethers.deployContract("EighteenDecimals");
    await expectRevert(deployEscrow(world, { token }), "Admin_InvalidAddress", await token.getAddress());
  });
});
