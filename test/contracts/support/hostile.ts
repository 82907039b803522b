/** A world whose stablecoin misbehaves on demand. */
import { getAddress } from "viem";
import { items } from "./batch.ts";
import { ethers, nextBlockAt } from "./chain.ts";
import { disputedJob, OTHER_HASH, Ruling, settledJob } from "./disputes.ts";
import { lockJob, provenJob } from "./jobs.ts";
import { deployWorld, OPERATOR, RESERVE_CREDITS } from "./world.ts";

/** Numbers of `Behaviour` in HostileStablecoin.sol. */
export const Behaviour = {
  Standard: 0,
  Revert: 1,
  ReturnFalse: 2,
  ReturnNothing: 3,
  ReturnTwo: 4,
  ReturnShort: 5,
  BurnGas: 6,
  ReturnBomb: 7,
} as const;

/** How a token refuses a transfer. */
export const REFUSALS = [
  ["reverts", Behaviour.Revert],
  ["returns false", Behaviour.ReturnFalse],
  ["returns 2", Behaviour.ReturnTwo],
  ["returns a byte", Behaviour.ReturnShort],
  ["burns all gas", Behaviour.BurnGas],
  ["reverts with a bomb of data", Behaviour.ReturnBomb],
] as const;

export async function deployHostileWorld(reserve = RESERVE_CREDITS) {
  const hostile = await ethers.deployContract("HostileStablecoin");
  const world = await deployWorld({ stablecoin: getAddress(await hostile.getAddress()) }, reserve);
  return { ...world, hostile };
}

export type HostileWorld = Awaited<ReturnType<typeof deployHostileWorld>>;

/** Calls that move money, as the token would make them while the escrow pays. */
export async function intrusions(world: HostileWorld): Promise<[string, string][]> {
  const { escrow, worker, stranger, client } = world;
  const [locked, settled, disputed] = [await lockJob(world), await settledJob(world), await disputedJob(world)];
  const proven = await provenJob(world);
  await nextBlockAt(proven.finalizeFrom);
  const code = escrow.interface;
  const make = items(world);
  const permit = [100, OPERATOR, 0, 27, OTHER_HASH, OTHER_HASH] as const;
  return [
    ["deposit", code.encodeFunctionData("deposit", [100, OPERATOR])],
    ["depositWithPermit", code.encodeFunctionData("depositWithPermit", [...permit])],
    ["fundReserve", code.encodeFunctionData("fundReserve", [OPERATOR, 1])],
    ["withdrawReserve", code.encodeFunctionData("withdrawReserve", [OPERATOR, stranger.address])],
    ["withdrawEarnings", code.encodeFunctionData("withdrawEarnings", [OPERATOR, 1, 2, stranger.address])],
    ["withdraw", make.withdraw(1, stranger.address)],
    ["withdraw to the wallet", make.withdraw(1, client.address)],
    ["claim of the worker", make.claim(worker.payout)],
    ["claim of the wallet", make.claim(client.address)],
    ["claimTo", code.encodeFunctionData("claimTo", [stranger.address])],
    ["complete", await make.complete(locked)],
    ["complete of a settled job", await make.complete(settled)],
    ["finalize", make.finalize(proven)],
    ["openDispute", await make.openDispute(settled)],
    ["joinDispute", make.joinDispute(disputed)],
    ["rule", code.encodeFunctionData("rule", [disputed.id, Ruling.GatewayAtFault])],
    ["expire", make.expire(disputed)],
    ["collectDebt", make.collectDebt(disputed)],
    ["proveEquivocation", await make.proveEquivocation(settled)],
  ];
}
