/** One simulated chain for all contract tests; `loadFixture` gives each test its own state. */
/// <reference types="mocha" />
/// <reference path="../../../types/ethers-contracts/hardhat.d.ts" />
import { network } from "hardhat";

export const { ethers, ignition, networkHelpers } = await network.create();

/** The next block gets this time, Unix seconds. */
export async function nextBlockAt(timestamp: number | bigint): Promise<void> {
  await networkHelpers.time.setNextBlockTimestamp(timestamp);
}

/** Time of the latest block, Unix seconds. */
export async function now(): Promise<number> {
  return await networkHelpers.time.latest();
}

/** Mines an empty block at this time, for views that depend on it. */
export async function mineAt(timestamp: number | bigint): Promise<void> {
  await networkHelpers.time.increaseTo(timestamp);
}
