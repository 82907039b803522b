/** One simulated chain for all contract tests; `freshly` gives each test its own state. */
/// <reference types="mocha" />
/// <reference path="../../../types/ethers-contracts/hardhat.d.ts" />
import { network } from "hardhat";

export const { ethers, ignition, networkHelpers } = await network.create();

/**
 * A fixture as it was left, clock included. The simulated clock runs on with the machine's: without this, the first block of a test that
 * runs minutes after the fixture was made would be minutes later than the fixture's last one.
 */
export async function freshly<T>(fixture: () => Promise<T>): Promise<T> {
  const made = await networkHelpers.loadFixture(fixture);
  await nextBlockAt((await now()) + 1);
  return made;
}

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
