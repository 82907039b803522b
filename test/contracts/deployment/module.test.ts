import { expect } from "chai";
import { getAddress } from "viem";
import { someAddress } from "../support/actors.ts";
import { ethers } from "../support/chain.ts";
import { deployBare } from "../support/world.ts";

describe("The deployment module", () => {
  it("hands every contract over to the owner and leaves the deployer nothing", async () => {
    const owner = someAddress("governance");
    const [deployer] = await ethers.getSigners();
    const { escrow, catalog, registry, treasury, svc, guardian } = await deployBare({
      owner,
      serviceTokenHolder: owner,
    });
    const owners = await Promise.all([escrow.owner(), catalog.owner(), registry.owner(), treasury.owner()]);
    expect(owners).to.deep.equal([owner, owner, owner, owner]);
    expect(await svc.balanceOf(deployer?.address ?? "")).to.equal(0);
    expect(await escrow.guardian()).to.equal(guardian.address);
  });

  it("wires the contracts to each other", async () => {
    const { escrow, catalog, registry, treasury, svc, token } = await deployBare();
    expect([
      await escrow.token(),
      await escrow.CATALOG(),
      await escrow.REGISTRY(),
      await escrow.treasury(),
    ]).to.deep.equal([
      await token.getAddress(),
      await catalog.getAddress(),
      await registry.getAddress(),
      await treasury.getAddress(),
    ]);
    expect([await registry.escrow(), await registry.STAKE_TOKEN()]).to.deep.equal([
      await escrow.getAddress(),
      await svc.getAddress(),
    ]);
  });

  it("numbers gateways in the order given", async () => {
    const gateways = ["c", "a", "b"].map(someAddress);
    const { escrow } = await deployBare({ gateways });
    expect(await Promise.all([1, 2, 3].map((id) => escrow.gatewaySigner(id)))).to.deep.equal(gateways);
  });

  it("uses an existing stablecoin", async () => {
    const token = await ethers.deployContract("PermitlessStablecoin");
    const { escrow } = await deployBare({ stablecoin: getAddress(await token.getAddress()) });
    expect(await escrow.token()).to.equal(await token.getAddress());
  });

  it("refuses to deploy without a gateway: no job could ever be locked", async () => {
    let message = "";
    await deployBare({ gateways: [] }).catch((error: Error) => {
      message = error.message;
    });
    expect(message).to.contain("without a gateway");
  });
});
