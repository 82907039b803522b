import { expect } from "chai";
import { getAddress } from "viem";
import { protocolModule } from "../../../scripts/deploy/protocol-module.ts";
import { someAddress } from "../support/actors.ts";
import { ethers, ignition } from "../support/chain.ts";
import { freshBare } from "../support/fresh.ts";
import { deployBare } from "../support/world.ts";

describe("The deployment module", () => {
  it("numbers operators in the order given", async () => {
    const operators = ["c", "a", "b"].map(someAddress);
    const { settings } = await freshBare();
    const deployed = await ignition.deploy(protocolModule({ ...settings, operators }));
    const escrow = await ethers.getContractAt("InferenceEscrow", deployed.escrow);
    const admitted = await Promise.all([1, 2, 3].map((number) => escrow.operatorOf(number)));
    expect(admitted.map(({ admin }) => admin)).to.deep.equal(operators);
    expect(await escrow.operatorCount()).to.equal(3);
  });

  it("uses an existing stablecoin", async () => {
    const token = await ethers.deployContract("PermitlessStablecoin");
    const { escrow } = await deployBare({ stablecoin: getAddress(await token.getAddress()) });
    expect(await escrow.token()).to.equal(await token.getAddress());
  });

  it("refuses to deploy without an operator: no job could ever be locked", async () => {
    const { settings } = await freshBare();
    expect(() => protocolModule({ ...settings, operators: [] })).to.throw("without an operator");
  });
});
