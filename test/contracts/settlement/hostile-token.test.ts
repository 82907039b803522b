/** Settlements with a token that turned hostile after the deposits: every door is shut while it pays, and the books still balance. */

import { expect } from "chai";
import { ethers, nextBlockAt } from "../support/chain.ts";
import { expectTokens } from "../support/expect.ts";
import { freshHostileWorld } from "../support/fresh.ts";
import { Behaviour, type HostileWorld, intrusions } from "../support/hostile.ts";
import { acknowledgedJob, lockJob, provenJob, sendComplete, sendFinalize } from "../support/jobs.ts";
import { CLIENT_CREDITS } from "../support/world.ts";

const PAID = 540_000n;
const FEE = 60_000n;

/** Tokens held, against what is owed. */
async function expectExactlySolvent({ escrow, hostile }: HostileWorld): Promise<void> {
  const { credits, claimable } = await escrow.liabilities();
  expect(await hostile.balanceOf(escrow)).to.equal(credits * 10_000n + claimable);
}

describe("A token that begins to take a fee on transfer", () => {
  it("takes it from the payees: the escrow pays what it owes and no more", async () => {
    const { world, escrow, hostile, worker, treasury } = await freshHostileWorld();
    const job = await lockJob(world);
    await hostile.setFee(1_000);
    await expect(sendComplete(world, job)).to.changeTokenBalances(
      ethers,
      hostile,
      [escrow, worker.payout, treasury],
      [-PAID - FEE, PAID - 1_000n, FEE - 1_000n],
    );
    await expectExactlySolvent(world);
  });
});

describe("A token that blocks the wallet", () => {
  it("cannot stop its jobs: they settle, fail and are refunded, and the credits go out to another address", async () => {
    const { world, escrow, hostile, client, gateway, stranger } = await freshHostileWorld();
    await hostile.setBehaviour(client.address, Behaviour.Revert);
    const jobs = [await lockJob(world), await lockJob(world), await lockJob(world)] as const;
    await sendComplete(world, jobs[0]);
    await escrow.connect(gateway).fail(jobs[1].id, 0);
    await nextBlockAt(jobs[2].lockedAt + 150);
    await escrow.connect(stranger).refund(jobs[2].id);
    const { free, escrowed } = await escrow.accountOf(client.address);
    expect([free, escrowed]).to.deep.equal([BigInt(CLIENT_CREDITS - 60), 0n]);
    await expect(escrow.connect(client).withdraw(1, client.address)).to.revert(ethers);
    await expectTokens(escrow.connect(client).withdraw(free, stranger.address), hostile, stranger, free * 10_000n);
  });
});

describe("A token that calls back", () => {
  for (const path of ["complete", "finalize"] as const) {
    it(`during ${path} finds every door shut, and everybody is paid once`, async () => {
      const { world, escrow, hostile, worker, treasury } = await freshHostileWorld();
      const target = await escrow.getAddress();
      const shut = escrow.interface.encodeErrorResult("ReentrancyGuardReentrantCall", []);
      for (const [name, data] of await intrusions(world)) {
        const job = path === "complete" ? await acknowledgedJob(world) : await provenJob(world);
        if ("finalizeFrom" in job) await nextBlockAt(Number(job.finalizeFrom));
        await hostile.setHook(target, data);
        const settling = path === "complete" ? sendComplete(world, job) : sendFinalize(world, job);
        await expect(settling, name).to.changeTokenBalances(
          ethers,
          hostile,
          [escrow, worker.payout, treasury],
          [-PAID - FEE, PAID, FEE],
        );
        expect(await hostile.hookResult(), name).to.equal(shut);
        await expectExactlySolvent(world);
      }
    });
  }
});
