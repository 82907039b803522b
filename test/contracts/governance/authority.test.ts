/**
 * Who may call what: every function of every contract that changes state is in this table, and each that is not open to everyone is
 * refused to everyone else. A new function fails the first test until somebody decides whose it is.
 */
import { expect } from "chai";
import { actingAs, ethers } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import { freshGovernedWorld } from "../support/governance.ts";
import type { World } from "../support/world.ts";

/** The error that tells a caller that a function is not its own. */
const GUARDS = {
  owner: "OwnableUnauthorizedAccount",
  "guardian or owner": "Admin_NotGuardian",
  panel: "Dispute_NotThePanel",
  escrow: null,
} as const;
const ESCROW_GUARDS = { registry: "Registry_NotTheEscrow", treasury: "Treasury_NotTheEscrow" } as const;
type Guard = keyof typeof GUARDS | "anyone" | "checked by its own tests";

/** "checked by its own tests": open by signature, state or ownership of one thing, which the tests of that thing show. */
const OWN = "checked by its own tests";
const OWNABLE = { transferOwnership: "owner", renounceOwnership: "owner" } as const;
const FUNCTIONS: Record<"escrow" | "catalog" | "registry" | "treasury" | "panel", Record<string, Guard>> = {
  escrow: {
    ...OWNABLE,
    admitOperator: "owner",
    scheduleFee: "owner",
    setTreasury: "owner",
    setGuardian: "owner",
    setCompensationCap: "owner",
    setPaused: "guardian or owner",
    // To stop one; only the owner lifts that.
    stopOperator: "guardian or owner",
    rule: "panel",
    // The wallet's own.
    deposit: "anyone",
    depositWithPermit: "anyone",
    withdraw: "anyone",
    chooseOperator: "anyone",
    setLimits: "anyone",
    setAuthorizationKey: "anyone",
    setDisputeKey: "anyone",
    joinDispute: OWN,
    // The operator's admin.
    rotateSigners: OWN,
    setOperatorAdmin: OWN,
    announceReserveWithdrawal: OWN,
    withdrawReserve: OWN,
    withdrawEarnings: OWN,
    fundReserve: "anyone",
    // The caller's own authority, item by item.
    execute: "anyone",
    claim: "anyone",
    // The payee.
    claimTo: "anyone",
    collectDebt: "anyone",
    expire: "anyone",
    finalize: "anyone",
    refund: "anyone",
    // Anyone with the signatures.
    acknowledge: OWN,
    submitProof: OWN,
    proveEquivocation: OWN,
    disputeByKey: OWN,
    // A signer of the job's operator, or of the wallet's, or the wallet.
    lock: OWN,
    lockAuthorized: OWN,
    complete: OWN,
    fail: OWN,
    openDispute: OWN,
  },
  catalog: { ...OWNABLE, list: "owner", schedulePrices: "owner", scheduleRetirement: "owner" },
  registry: {
    ...OWNABLE,
    setEscrow: "owner",
    scheduleStakeTerms: "owner",
    scheduleSvcWorth: "owner",
    slash: "escrow",
    register: OWN,
    addStake: "anyone",
    // The worker's owner.
    setPayout: OWN,
    setEndpoint: OWN,
    setHosting: OWN,
    startUnbonding: OWN,
    cancelUnbonding: OWN,
    withdrawStake: OWN,
  },
  treasury: { ...OWNABLE, setEscrow: "owner", pay: "owner", claimTo: "owner", compensate: "escrow" },
  panel: { ...OWNABLE, setEscrow: "owner", setArbiters: "owner", vote: OWN, voteMany: OWN },
};
type Name = keyof typeof FUNCTIONS;
const NAMES = Object.keys(FUNCTIONS) as Name[];

/** Names of the functions that can change state. */
function mutating(world: World, name: Name): string[] {
  const names: string[] = [];
  world[name].interface.forEachFunction(({ name: fn, constant }) => {
    if (!constant) names.push(fn);
  });
  return names;
}

/** Arguments that decode; the guard comes before any of them is looked at. */
function zeros(
  types: readonly { baseType: string; components?: readonly unknown[] | null; type: string }[],
): unknown[] {
  return types.map(({ baseType, components, type }) => {
    if (baseType === "array") return [];
    if (baseType === "tuple") return zeros((components ?? []) as Parameters<typeof zeros>[0]);
    if (type === "address") return ethers.ZeroAddress;
    if (type === "bool") return true;
    if (type === "string") return "";
    if (type === "bytes") return "0x";
    return type.startsWith("bytes") ? `0x${"00".repeat(Number(type.slice(5)))}` : 0;
  });
}

describe("Every function that changes state", () => {
  it("is somebody's: the table names each of them and no other", async () => {
    const world = await freshGovernedWorld();
    for (const name of NAMES) {
      expect(mutating(world, name), name).to.have.members(Object.keys(FUNCTIONS[name]));
    }
  });

  for (const name of NAMES) {
    for (const [fn, guard] of Object.entries(FUNCTIONS[name])) {
      if (guard === "anyone" || guard === OWN) continue;
      it(`${name}.${fn} is refused to all but the ${guard}`, async () => {
        const world = await freshGovernedWorld();
        const { owner, guardian, operatorAdmin, gateway, stranger, client, workerOwner, arbiters, governor } = world;
        const contract = world[name];
        const error = guard === "escrow" ? ESCROW_GUARDS[name as keyof typeof ESCROW_GUARDS] : GUARDS[guard];
        if (!error) throw new Error(`no guard of ${name}.${fn}`);
        const code: InstanceType<typeof ethers.Interface> = contract.interface;
        const fragment = code.getFunction(fn);
        if (fragment === null) throw new Error(`no ${name}.${fn}`);
        const data = code.encodeFunctionData(fragment, zeros(fragment.inputs));
        const people = [owner, operatorAdmin, gateway, stranger, client, workerOwner, ...arbiters];
        const callers = [...people, await actingAs(governor)];
        if (guard !== "guardian or owner") callers.push(guardian);
        // Not even the owner of everything rules, slashes or draws on the treasury.
        if (guard !== "owner" && guard !== "guardian or owner") callers.push(await actingAs(world.timelock));
        for (const caller of callers)
          await expectRevert(caller.sendTransaction({ to: contract, data }), error, caller.address);
      });
    }
  }
});
