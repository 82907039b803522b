/** A world whose stablecoin misbehaves on demand. */
import { getAddress } from "viem";
import { ethers } from "./chain.ts";
import { deployWorld } from "./world.ts";

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

export async function deployHostileWorld() {
  const hostile = await ethers.deployContract("HostileStablecoin");
  const world = await deployWorld({ stablecoin: getAddress(await hostile.getAddress()) });
  return { ...world, hostile };
}

export type HostileWorld = Awaited<ReturnType<typeof deployHostileWorld>>;
