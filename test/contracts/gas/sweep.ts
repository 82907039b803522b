/** One call at many gas limits, each from the same state: it reverts whole or has its whole effect, whoever chooses the limit. */
import { expect } from "chai";
import type { Hex } from "viem";
import { ethers, nextBlockAt, now } from "../support/chain.ts";
import { OPERATOR, type World } from "../support/world.ts";

export type Call = {
  from: { sendTransaction(tx: object): Promise<{ wait(): Promise<unknown> }> };
  to: string;
  data: string;
};

/** Everything a call about one job can change, as text. */
async function stateOf(world: World, id: Hex): Promise<string> {
  const { escrow, token, svc, registry, panel, client, worker } = world;
  const treasury = await escrow.treasury();
  const payees = [client.address, worker.payout, treasury, await escrow.getAddress()];
  const parts: unknown[] = [
    await escrow.jobOf(id),
    await escrow.disputeOf(id),
    await escrow.compensationOf(id),
    await escrow.accountOf(client.address),
    await escrow.operatorOf(OPERATOR),
    await escrow.liabilities(),
    await registry.slashOf(id),
    await svc.balanceOf(registry),
    await svc.balanceOf(treasury),
    ...(await Promise.all([1, 2, 3].map((ruling) => panel.votesFor(id, ruling)))),
    ...(await Promise.all(payees.map((payee) => token.balanceOf(payee)))),
    ...(await Promise.all(payees.map((payee) => escrow.claimableOf(payee)))),
  ];
  return JSON.stringify(parts, (_, value) => (typeof value === "bigint" ? value.toString() : value));
}

/** What the call leaves at each limit, from the same state; null where it reverted. */
async function attempts(world: World, id: Hex, call: Call, limits: bigint[]): Promise<(string | null)[]> {
  const results: (string | null)[] = [];
  const at = (await now()) + 5;
  for (const gasLimit of limits) {
    const snapshot = (await ethers.provider.send("evm_snapshot", [])) as string;
    let mined = true;
    // The same time for all: windows run from it.
    await nextBlockAt(at);
    try {
      await (await call.from.sendTransaction({ to: call.to, data: call.data, gasLimit })).wait();
    } catch {
      // Out of gas, by whichever name; that it was only that is shown by the limits at which the same call succeeds.
      mined = false;
    }
    const state = await stateOf(world, id);
    results.push(mined ? state : null);
    if (!mined) expect(state, `a revert at ${gasLimit} left something`).to.equal(await untouched(world, id, snapshot));
    else await ethers.provider.send("evm_revert", [snapshot]);
  }
  return results;
}

async function untouched(world: World, id: Hex, snapshot: string): Promise<string> {
  await ethers.provider.send("evm_revert", [snapshot]);
  return await stateOf(world, id);
}

/** Sweeps from a limit that is surely too low to one that is surely enough, in `steps` steps. */
export async function expectAllOrNothing(world: World, id: Hex, call: Call, most: number, steps = 40): Promise<void> {
  const least = 40_000;
  const limits = Array.from({ length: steps + 1 }, (_, i) => BigInt(least + Math.floor(((most - least) * i) / steps)));
  const results = await attempts(world, id, call, limits);
  const full = results.at(-1);
  expect(full, `${most} gas is not enough`).to.be.a("string");
  expect(results[0], `${least} gas is enough`).to.equal(null);
  for (const [i, result] of results.entries())
    if (result !== null) expect(result, `at ${limits[i]} gas`).to.equal(full);
}
