/** SVC as votes: by the holder's word, by signature, as of the snapshot; and as permits. */
import { expect } from "chai";
import { ethers, mineAt, now } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import { freshGovernedWorld, proposalOf, Vote, votingDelay } from "../support/governance.ts";
import { PERMIT_TYPES } from "../support/sign.ts";
import { CHAIN_ID, type World } from "../support/world.ts";

const AMOUNT = 10n ** 24n;

async function domainOf(world: World) {
  return {
    name: "Service Token",
    version: "1",
    chainId: CHAIN_ID,
    verifyingContract: await world.svc.getAddress(),
  };
}

async function proposed(world: World): Promise<bigint> {
  const { escrow, governor, owner } = world;
  const data = escrow.interface.encodeFunctionData("setPaused", [true]);
  const proposal = await proposalOf(world, [[escrow, data]], "pause");
  await governor.connect(owner).propose(...proposal.args);
  return proposal.id;
}

describe("Votes", () => {
  it("count as of the snapshot: what is bought later does not, what is sold later does", async () => {
    const { world, svc, governor, owner, stranger, client } = await freshGovernedWorld();
    await svc.connect(owner).transfer(client.address, AMOUNT);
    for (const holder of [client, stranger]) await svc.connect(holder).delegate(holder.address);
    const id = await proposed(world);
    await mineAt((await now()) + votingDelay + 1);
    await svc.connect(client).transfer(stranger.address, AMOUNT);
    await governor.connect(stranger).castVote(id, Vote.Against);
    await governor.connect(client).castVote(id, Vote.For);
    expect(await governor.proposalVotes(id)).to.deep.equal([0n, AMOUNT, 0n]);
    await expectRevert(governor.connect(client).castVote(id, Vote.Against), "GovernorAlreadyCastVote", client.address);
    await expectRevert(governor.connect(owner).castVote(id, 3), "GovernorInvalidVoteType");
  });
});

describe("Permits of SVC", () => {
  async function permit(world: World, deadline: number, chainId = CHAIN_ID) {
    const { svc, owner, stranger } = world;
    const message = {
      owner: owner.address,
      spender: stranger.address,
      value: AMOUNT,
      nonce: await svc.nonces(owner.address),
      deadline,
    };
    const signature = await owner.signTypedData({ ...(await domainOf(world)), chainId }, PERMIT_TYPES, message);
    const { v, r, s } = ethers.Signature.from(signature);
    return [owner.address, stranger.address, AMOUNT, deadline, v, r, s] as const;
  }

  it("approve by signature, once", async () => {
    const { world, svc, owner, stranger } = await freshGovernedWorld();
    const args = await permit(world, (await now()) + 1_000);
    await svc.connect(stranger).permit(...args);
    expect(await svc.allowance(owner.address, stranger.address)).to.equal(AMOUNT);
    expect(await svc.nonces(owner.address)).to.equal(1);
    await expectRevert(svc.permit(...args), "ERC2612InvalidSigner");
  });

  it("are worth nothing after their deadline or on another chain", async () => {
    const { world, svc } = await freshGovernedWorld();
    const deadline = (await now()) - 1;
    await expectRevert(svc.permit(...(await permit(world, deadline))), "ERC2612ExpiredSignature", deadline);
    await expectRevert(svc.permit(...(await permit(world, (await now()) + 1_000, 1))), "ERC2612InvalidSigner");
  });
});
