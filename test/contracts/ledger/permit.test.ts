import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { expect } from "chai";
import { ethers, now, prepared } from "../support/chain.ts";
import { deployEscrow } from "../support/escrow-factory.ts";
import { expectRevert } from "../support/expect.ts";
import { freshBare } from "../support/fresh.ts";
import { PERMIT_TYPES } from "../support/sign.ts";
import { type BareWorld, CHAIN_ID, OPERATOR } from "../support/world.ts";

const UNITS = 10_000n;

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
    await expect(escrow.connect(client).depositWithPermit(...args))
      .to.emit(escrow, "Deposited")
      .withArgs(1, client.address, 1, 100, OPERATOR, 100, 0);
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
