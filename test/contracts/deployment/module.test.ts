import { expect } from "chai";
import { getAddress } from "viem";
import { protocolModule } from "../../../scripts/deploy/protocol-module.ts";
import { someAddress } from "../support/actors.ts";
import { ethers, ignition } from "../support/chain.ts";
import { freshBare } from "../support/fresh.ts";
import { deployBare } from "../support/world.ts";

describe("The deployment module", () => {
  it("hands every contract over to the timelock and leaves the deployer nothing", async () => {
    const [deployer] = await ethers.getSigners();
    const holder = someAddress("holder");
    const world = await deployBare({ owner: null, serviceTokenHolder: holder });
    const { escrow, catalog, registry, treasury, panel, timelock, governor, svc, guardian } = world;
    const owned = [escrow, catalog, registry, treasury, panel];
    const owners = await Promise.all(owned.map((contract) => contract.owner()));
    expect(new Set(owners)).to.deep.equal(new Set([await timelock.getAddress()]));
    expect(await governor.timelock()).to.equal(await timelock.getAddress());
    expect(await escrow.guardian()).to.equal(guardian.address);
    expect(await svc.balanceOf(holder)).to.equal(await svc.totalSupply());

    // AccessControl cannot list its members: its events can.
    const held = new Map<string, string>();
    const logs = await timelock.queryFilter(timelock.filters.RoleGranted());
    for (const { args } of logs) held.set(`${args.role} ${args.account}`, args.account);
    for (const { args } of await timelock.queryFilter(timelock.filters.RoleRevoked()))
      held.delete(`${args.role} ${args.account}`);
    const roles = async (name: "PROPOSER_ROLE" | "CANCELLER_ROLE" | "EXECUTOR_ROLE" | "DEFAULT_ADMIN_ROLE") =>
      await timelock[name]();
    expect([...held.keys()]).to.have.members([
      `${await roles("DEFAULT_ADMIN_ROLE")} ${await timelock.getAddress()}`,
      `${await roles("PROPOSER_ROLE")} ${await governor.getAddress()}`,
      `${await roles("CANCELLER_ROLE")} ${await governor.getAddress()}`,
      `${await roles("EXECUTOR_ROLE")} ${ethers.ZeroAddress}`,
    ]);
    expect([...held.values()]).not.to.include(deployer?.address);
  });

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
