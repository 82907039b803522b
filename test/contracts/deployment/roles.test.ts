/** After the deployment the deployer holds nothing: every role, every address and every balance of every contract is read. */
import { expect } from "chai";
import { someAddress } from "../support/actors.ts";
import { ethers, freshly } from "../support/chain.ts";
import { type BareWorld, deployBare } from "../support/world.ts";

const CONTRACTS = [
  "escrow",
  "catalog",
  "registry",
  "treasury",
  "panel",
  "governor",
  "timelock",
  "svc",
  "token",
] as const;

async function deployed() {
  return await deployBare({ owner: null, serviceTokenHolder: someAddress("holder") });
}

/** What every view without arguments that returns one address says, by name. */
async function addressesOf(world: BareWorld): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of CONTRACTS) {
    const contract = world[name];
    const code: InstanceType<typeof ethers.Interface> = contract.interface;
    const getters: string[] = [];
    code.forEachFunction(({ name: fn, constant, inputs, outputs }) => {
      if (constant && inputs.length === 0 && outputs.length === 1 && outputs[0]?.type === "address") getters.push(fn);
    });
    for (const getter of getters) {
      const data = code.encodeFunctionData(getter);
      const result = await ethers.provider.call({ to: await contract.getAddress(), data });
      found[`${name}.${getter}`] = ethers.AbiCoder.defaultAbiCoder().decode(["address"], result)[0] as string;
    }
  }
  return found;
}

describe("After the deployment", () => {
  it("the timelock owns every contract, the guardian guards, nobody else is named", async () => {
    const world = await freshly(deployed);
    const { escrow, catalog, registry, treasury, panel, timelock, svc, token, guardian } = world;
    const at = async (contract: { getAddress(): Promise<string> }) => await contract.getAddress();
    const owned = await at(timelock);
    expect(await addressesOf(world)).to.deep.equal({
      "escrow.owner": owned,
      "escrow.guardian": guardian.address,
      "escrow.treasury": await at(treasury),
      "escrow.token": await at(token),
      "escrow.CATALOG": await at(catalog),
      "escrow.REGISTRY": await at(registry),
      "escrow.PANEL": await at(panel),
      "catalog.owner": owned,
      "registry.owner": owned,
      "registry.escrow": await at(escrow),
      "registry.STAKE_TOKEN": await at(svc),
      "treasury.owner": owned,
      "treasury.escrow": await at(escrow),
      "treasury.STABLECOIN": await at(token),
      "panel.owner": owned,
      "panel.escrow": await at(escrow),
      "governor.timelock": owned,
      "governor.token": await at(svc),
    });
  });

  it("the governor proposes and cancels, anyone executes, nobody else has a role", async () => {
    const { governor, timelock, svc } = await freshly(deployed);
    // AccessControl cannot list its members: its events can.
    const held = new Set<string>();
    for (const { args } of await timelock.queryFilter(timelock.filters.RoleGranted()))
      held.add(`${args.role} ${args.account}`);
    for (const { args } of await timelock.queryFilter(timelock.filters.RoleRevoked()))
      held.delete(`${args.role} ${args.account}`);
    expect([...held]).to.have.members([
      `${await timelock.DEFAULT_ADMIN_ROLE()} ${await timelock.getAddress()}`,
      `${await timelock.PROPOSER_ROLE()} ${await governor.getAddress()}`,
      `${await timelock.CANCELLER_ROLE()} ${await governor.getAddress()}`,
      `${await timelock.EXECUTOR_ROLE()} ${ethers.ZeroAddress}`,
    ]);
    expect(await svc.balanceOf(someAddress("holder"))).to.equal(await svc.totalSupply());
  });

  it("the deployer is left with no role, stake, vote or token", async () => {
    const world = await freshly(deployed);
    const { escrow, registry, panel, timelock, svc, token, owner: deployer } = world;
    const { address } = deployer;
    expect(await escrow.signerOf(address)).to.deep.equal([0n, 0n]);
    const count = Number(await escrow.operatorCount());
    const operators = await Promise.all(Array.from({ length: count }, (_, i) => escrow.operatorOf(i + 1)));
    expect(operators.map(({ admin }) => admin)).not.to.include(address);
    expect((await escrow.accountOf(address)).id).to.equal(0);
    expect(await registry.payeeOf(address, 0)).to.equal(0n);
    const { arbiters } = await panel.arbitersOf(await panel.currentSet());
    expect([...arbiters]).not.to.include(address);
    for (const role of ["DEFAULT_ADMIN_ROLE", "PROPOSER_ROLE", "CANCELLER_ROLE", "EXECUTOR_ROLE"] as const) {
      expect(await timelock.hasRole(await timelock[role](), address), role).to.equal(false);
      expect(await timelock.getRoleAdmin(await timelock[role]()), role).to.equal(ethers.ZeroHash);
    }
    const held = [await svc.balanceOf(address), await svc.getVotes(address), await token.balanceOf(address)];
    expect(held).to.deep.equal([0n, 0n, 0n]);
  });
});
