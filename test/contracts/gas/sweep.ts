/** One call at many gas limits, each from the same state: it reverts whole or has its whole effect, whoever chooses the limit. */
import { expect } from "chai";
import type { AddressLike } from "ethers";
import { ethers, networkHelpers, nextBlockAt, now } from "../support/chain.ts";

export type Call = { from: { sendTransaction(tx: object): Promise<unknown> }; to: AddressLike; data: string };
type Range = { from?: number; to: number; steps?: number };
/** @property root Of the state of all accounts and contracts after it. */
type Attempt = { gasLimit: number; reverted: boolean; root: string };

/** The call at each limit, from the same state and at the same time. Gas is free, so that no balance tells the limit. */
async function attempts({ from, to, data }: Call, limits: readonly number[]): Promise<Attempt[]> {
  const made: Attempt[] = [];
  const at = (await now()) + 5;
  const start = await networkHelpers.takeSnapshot();
  for (const gasLimit of limits) {
    await networkHelpers.setNextBlockBaseFeePerGas(0);
    await nextBlockAt(at);
    const reverted = await from.sendTransaction({ to, data, gasLimit, gasPrice: 0 }).then(
      () => false,
      // Out of gas, by whichever name; that it was only that is shown by the limits at which the same call succeeds.
      () => true,
    );
    const { stateRoot, timestamp } = await ethers.provider.send("eth_getBlockByNumber", ["latest", false]);
    expect(Number(timestamp), `no block for ${gasLimit} gas`).to.equal(at);
    made.push({ gasLimit, reverted, root: stateRoot });
    await start.restore();
  }
  return made;
}

/** Sweeps from a limit that is surely too low to one that is surely enough. */
export async function expectAllOrNothing(call: Call, { from = 40_000, to, steps = 40 }: Range): Promise<void> {
  const limits = Array.from({ length: steps + 1 }, (_, i) => from + Math.floor(((to - from) * i) / steps));
  const made = await attempts(call, limits);
  const [nothing, all] = [made[0], made.at(-1)];
  expect(nothing?.reverted, `${from} gas is enough`).to.equal(true);
  expect(all?.reverted, `${to} gas is not enough`).to.equal(false);
  for (const { gasLimit, reverted, root } of made)
    expect(root, `at ${gasLimit} gas`).to.equal((reverted ? nothing : all)?.root);
}
