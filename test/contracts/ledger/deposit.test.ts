/** Credits in and out of a wallet's account. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { expect } from "chai";
import { ethers, now, prepared } from "../support/chain.ts";
import { deployEscrow } from "../support/escrow-factory.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshBare, freshHostileWorld, freshWorld } from "../support/fresh.ts";
import { Behaviour } from "../support/hostile.ts";
import { LOCK_CREDITS, lockJob } from "../support/jobs.ts";
import { PERMIT_TYPES } from "../support/sign.ts";
import {
  type BareWorld,
  buyCredits,
  CHAIN_ID,
  CLIENT_CREDITS,
  OPERATOR,
  provide,
  RESERVE_CREDITS,
} from "../support/world.ts";

const UNITS = 10_000n;

describe("deposit", () => {
  it("refuses 99 credits and takes 100", async () => {
    const { escrow, token, client } = await freshBare();
    await provide({ escrow, token }, client, 100n * UNITS);
    await expectRevert(escrow.connect(client).deposit(99, OPERATOR), "Ledger_DepositTooSmall", 99, 100);
    const sent = escrow.connect(client).deposit(100, OPERATOR);
    await expect(sent).to.emit(escrow, "Deposited").withArgs(1, client.address, 1, 100, OPERATOR, 100, 0);
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
    for (const [i, wallet] of [client.address, stranger.address, ethers.ZeroAddress].entries())
      expect(await escrow.walletOf(i + 1)).to.equal(wallet);
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
    const refused = escrow.connect(stranger).deposit(100, OPERATOR);
    await expectRevert(refused, "Ledger_InexactTransfer", 100n * UNITS - 1n, 100n * UNITS);
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

/** An EIP-2612 permit of `owner` for the escrow. */
async function permit(world: BareWorld, owner: HardhatEthersSigner, credits: bigint, deadline: number) {
  const { token, escrow } = world;
  const domain = { name: "Test USDG", version: "1", chainId: CHAIN_ID, verifyingContract: await token.getAddress() };
  const message = {
    owner: owner.address,
    spender: await escrow.getAddress(),
    value: credits * UNITS,
    nonce: await token.nonces(owner.address),
    deadline,
  };
  const { v, r, s } = ethers.Signature.from(await owner.signTypedData(domain, PERMIT_TYPES, message));
  return [credits, OPERATOR, deadline, v, r, s] as const;
}

describe("depositWithPermit", () => {
  async function withTokens() {
    const world = await freshBare();
    await world.token.mint(world.client.address, 100n * UNITS);
    return world;
  }
  const start = () => prepared(withTokens);

  it("buys credits with one transaction and no allowance", async () => {
    const world = await start();
    const { escrow, client, token } = world;
    const args = await permit(world, client, 100n, (await now()) + 60);
    const sent = escrow.connect(client).depositWithPermit(...args);
    await expect(sent).to.emit(escrow, "Deposited").withArgs(1, client.address, 1, 100, OPERATOR, 100, 0);
    expect(await token.allowance(client.address, escrow)).to.equal(0);
  });

  it("works when a front-runner has used the permit already", async () => {
    const world = await start();
    const { escrow, client, stranger, token } = world;
    const args = await permit(world, client, 100n, (await now()) + 60);
    const [credits, , deadline, v, r, s] = args;
    await token.connect(stranger).permit(client.address, escrow, credits * UNITS, deadline, v, r, s);
    await escrow.connect(client).depositWithPermit(...args);
    expect((await escrow.accountOf(client.address)).free).to.equal(100);
  });

  it("fails with the token's error when neither permit nor allowance is good", async () => {
    const world = await start();
    const { escrow, client } = world;
    const expired = await permit(world, client, 100n, (await now()) - 1);
    await expectRevert(escrow.connect(client).depositWithPermit(...expired), "ERC20InsufficientAllowance");
  });

  it("takes the caller's tokens only: another's permit buys nothing", async () => {
    const world = await start();
    const { escrow, client, stranger, token } = world;
    const args = await permit(world, client, 100n, (await now()) + 60);
    await expectRevert(escrow.connect(stranger).depositWithPermit(...args), "ERC20InsufficientAllowance");
    expect(await token.balanceOf(client.address)).to.equal(100n * UNITS);
  });

  it("refuses 99 credits, and everything while paused", async () => {
    const world = await start();
    const { escrow, client, guardian } = world;
    const small = await permit(world, client, 99n, (await now()) + 60);
    await expectRevert(escrow.connect(client).depositWithPermit(...small), "Ledger_DepositTooSmall");
    await escrow.connect(guardian).setPaused(true);
    const args = await permit(world, client, 100n, (await now()) + 60);
    await expectRevert(escrow.connect(client).depositWithPermit(...args), "Ledger_Paused");
  });

  it("falls back to the allowance of a token that knows no permit", async () => {
    const world = await freshBare();
    const { owner, client } = world;
    const token = await ethers.deployContract("PermitlessStablecoin");
    const escrow = await deployEscrow(world, { token });
    await escrow.admitOperator(owner);
    await token.mint(client, 100n * UNITS);
    await token.connect(client).approve(escrow, 100n * UNITS);
    await escrow.connect(client).depositWithPermit(100, OPERATOR, 0, 27, ethers.ZeroHash, ethers.ZeroHash);
    expect((await escrow.accountOf(client.address)).free).to.equal(100);
  });
});

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
    const refused = escrow.connect(client).withdraw(CLIENT_CREDITS + 1, client.address);
    await expectRevert(refused, "Ledger_InsufficientCredits", client.address, CLIENT_CREDITS, CLIENT_CREDITS + 1);
    await escrow.connect(client).withdraw(CLIENT_CREDITS, client.address);
    expect((await escrow.accountOf(client.address)).free).to.equal(0);
  });

  it("leaves credits in escrow alone", async () => {
    const { world, escrow, client } = await freshWorld();
    await lockJob(world);
    const free = CLIENT_CREDITS - LOCK_CREDITS;
    const refused = escrow.connect(client).withdraw(free + 1, client.address);
    await expectRevert(refused, "Ledger_InsufficientCredits", client.address, free, free + 1);
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
});
