/** One simulated chain for all contract tests; `freshly` gives each test its own state of it. */

import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { network } from "hardhat";

export const { ethers, ignition, networkHelpers } = await network.create();

/** Seconds. */
export const DAY = 86_400;

/** Worlds stand beside each other on the chain. Each is deployed once, and `untouched` has all of them as they were deployed. */
const worlds = new Map<() => Promise<unknown>, unknown>();
let untouched: Snapshot | undefined;
/** What was last prepared from a world. */
let latest: { prepare: () => Promise<unknown>; made: unknown; snapshot: Snapshot } | undefined;
type Snapshot = Awaited<ReturnType<typeof networkHelpers.takeSnapshot>>;

/**
 * A world as it was deployed: its parts, and all of it as `world`. It is recognised by its function, which therefore has a name and no
 * arguments.
 */
export async function freshly<T extends object>(deploy: () => Promise<T>): Promise<T & { world: T }> {
  latest = undefined;
  await untouched?.restore();
  if (!worlds.has(deploy)) {
    worlds.set(deploy, await deploy());
    untouched = await networkHelpers.takeSnapshot();
  }
  await keepClock();
  const world = worlds.get(deploy) as T;
  return { ...world, world };
}

/** What several tests in a row begin with, beyond a world: `prepare` takes a fresh one. */
export async function prepared<T>(prepare: () => Promise<T>): Promise<T> {
  if (latest?.prepare === prepare) {
    await latest.snapshot.restore();
  } else {
    const made = await prepare();
    latest = { prepare, made, snapshot: await networkHelpers.takeSnapshot() };
  }
  await keepClock();
  return latest.made as T;
}

/** The simulated clock runs on with the machine's: without this, the first block after a restored one would be minutes later. */
async function keepClock(): Promise<void> {
  await nextBlockAt((await now()) + 1);
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

// Calls in the name of a contract, to show what it would be told if it ever made them.

/** A signer for a contract's address, with ether for its gas. */
export async function actingAs(contract: { getAddress(): Promise<string> }): Promise<HardhatEthersSigner> {
  const address = await contract.getAddress();
  await networkHelpers.impersonateAccount(address);
  await networkHelpers.setBalance(address, 10n ** 18n);
  return await ethers.getSigner(address);
}
