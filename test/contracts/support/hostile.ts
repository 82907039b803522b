/** A world whose stablecoin misbehaves on demand. */
import { getAddress } from "viem";
import { ethers } from "./chain.ts";
import { deployWorld, RESERVE_CREDITS } from "./world.ts";

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

export async function deployHostileWorld(reserve = RESERVE_CREDITS) {
  const hostile = await ethers.deployContract("HostileStablecoin");
  const world = await deployWorld({ stablecoin: getAddress(await hostile.getAddress()) }, reserve);
  return { ...world, hostile };
}

export type HostileWorld = Awaited<ReturnType<typeof deployHostileWorld>>;
