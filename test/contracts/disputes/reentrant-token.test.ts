/** A token that calls back in the middle of a ruling: nothing that moves money can be entered, nothing is paid twice. */
import { expect } from "chai";
import { books, moved } from "../support/books.ts";
import { nextBlockAt } from "../support/chain.ts";
import {
  disputedJob,
  FEE_UNITS,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendRuling,
  sendVote,
  settledJob,
} from "../support/disputes.ts";
import { freshHostileWorldWithoutReserve, rich } from "../support/fresh.ts";
import { intrusions } from "../support/hostile.ts";
import { lockJob } from "../support/jobs.ts";
import { CLIENT_CREDITS } from "../support/world.ts";

describe("A token that calls back during a compensation", () => {
  it("finds every door that moves money closed, and the compensation is paid once", async () => {
    const { world, escrow, hostile, client } = await freshHostileWorldWithoutReserve();
    await hostile.mint(world.treasury, 100_000_000n);
    const target = await escrow.getAddress();
    for (const [name, data] of await intrusions(world)) {
      const job = await disputedJob(world, { by: client });
      const before = await books(world);
      await hostile.setHook(target, data);
      await sendRuling(world, job, Ruling.GatewayAtFault);
      expect(await hostile.hookResult(), name).to.equal(
        escrow.interface.encodeErrorResult("ReentrancyGuardReentrantCall", []),
      );
      expect(moved(before, await books(world)), name).to.deep.equal({
        free: 160n,
        escrowed: -100n,
        treasury: -600_000n,
        escrow: 600_000n,
      });
    }
  });

  it("finds them closed during an equivocation and a collected debt, too", async () => {
    const { world, escrow, hostile, client, treasury } = await freshHostileWorldWithoutReserve();
    const target = await escrow.getAddress();
    const guarded = escrow.interface.encodeErrorResult("ReentrancyGuardReentrantCall", []);
    const collect = (id: string) => escrow.interface.encodeFunctionData("collectDebt", [id]);
    const [first, second] = [await settledJob(world), await settledJob(world)];
    await sendDispute(world, second);
    await hostile.setHook(target, collect(first.id));
    await sendEquivocation(world, first);
    expect(await hostile.hookResult()).to.equal(guarded);
    // The fee of the other job is all the treasury has left.
    await sendRuling(world, second, Ruling.GatewayAtFault);
    const { granted, paid } = await escrow.compensationOf(second.id);
    expect(paid).to.equal(FEE_UNITS);
    await hostile.mint(treasury, granted - paid);
    await hostile.setHook(target, collect(second.id));
    await escrow.collectDebt(second.id);
    expect(await hostile.hookResult()).to.equal(guarded);
    expect((await escrow.compensationOf(second.id)).paid).to.equal(granted);
    await books(world);
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS - 54);
  });

  it("can end another job of the same wallet meanwhile, and both amounts arrive", async () => {
    const { world, escrow, hostile, client } = await rich(freshHostileWorldWithoutReserve());
    const waiting = await lockJob(world);
    const job = await disputedJob(world);
    await nextBlockAt(waiting.lockedAt + 150);
    await sendVote(world, job, Ruling.GatewayAtFault);
    await hostile.setHook(await escrow.getAddress(), escrow.interface.encodeFunctionData("refund", [waiting.id]));
    await sendVote(world, job, Ruling.GatewayAtFault, world.arbiters[1]);
    expect(await hostile.hookSucceeded()).to.equal(true);
    const { free, escrowed } = await escrow.accountOf(client.address);
    expect([free, escrowed]).to.deep.equal([BigInt(CLIENT_CREDITS), 0n]);
    await books(world);
  });
});
