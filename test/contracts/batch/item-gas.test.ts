/** ITEM_GAS, the gas that must be left before each item, is enough for the dearest item of every kind. */
import { expect } from "chai";
import { AUTHORIZATION_KEY, authorizationOf, requireAuthorization } from "../support/authorizations.ts";
import { executeBatch, items } from "../support/batch.ts";
import { mineAt } from "../support/chain.ts";
import { disputedJob, disputedProvenJob, Ruling, sendRuling, settledJob } from "../support/disputes.ts";
import { withShare } from "../support/earnings.ts";
import { freshHostileWorldWithoutReserve, rich } from "../support/fresh.ts";
import { Behaviour, type HostileWorld } from "../support/hostile.ts";
import { acknowledgedJob, lockJob, provenJob } from "../support/jobs.ts";
import { NO_SIGNATURE, signAuthorization } from "../support/sign.ts";
import { fundReserve } from "../support/world.ts";

/** What execute itself needs besides: the transaction's own gas and calldata. */
const AROUND = 40_000n;

async function burning(world: HostileWorld, escrowToo = true): Promise<void> {
  const { hostile, worker, treasury, escrow } = world;
  for (const payee of [worker.payout, await treasury.getAddress()])
    await hostile.setBehaviour(payee, Behaviour.BurnGas);
  if (escrowToo) await hostile.setBehaviour(escrow, Behaviour.BurnGas);
}

/** The treasury as an ordinary address that lets somebody vote for it: a slash then writes votes, too. */
async function votingTreasury(world: HostileWorld): Promise<void> {
  await world.svc.connect(world.stranger).delegate(world.others[0]?.address ?? "");
  await world.escrow.setTreasury(world.stranger);
}

const kinds: Record<string, (world: HostileWorld) => Promise<string>> = {
  acknowledge: async (world) => await items(world).acknowledge(await lockJob(world)),
  "complete, both payouts burn": async (world) => {
    const job = await lockJob(world);
    await burning(world);
    return await items(world).complete(job);
  },
  submitProof: async (world) => await items(world).submitProof(await acknowledgedJob(world)),
  "finalize, both payouts burn": async (world) => {
    const job = await provenJob(world);
    await mineAt(job.finalizeFrom);
    await burning(world);
    return items(world).finalize(job);
  },
  lockAuthorized: async (world) => {
    await requireAuthorization(world);
    const authorization = await authorizationOf(world);
    const byKey = await signAuthorization(world.escrow, AUTHORIZATION_KEY, authorization);
    return world.escrow.interface.encodeFunctionData("lockAuthorized", [authorization, byKey]);
  },
  "openDispute by the operator, settled job": async (world) => await items(world).openDispute(await settledJob(world)),
  "openDispute by the operator, proven job": async (world) =>
    await items(world).openDispute(await provenJob(world), { signature: NO_SIGNATURE }),
  "expire, the compensation burns": async (world) => {
    const job = await disputedJob(world, { by: world.client });
    await mineAt(job.openedAt + 86_400);
    await burning(world);
    return items(world).expire(job);
  },
  "expire, compensated with a first fraction": async (world) => {
    const job = await disputedJob(world, { completionTokens: 2_050 });
    await mineAt(job.openedAt + 86_400);
    return items(world).expire(job);
  },
  "proveEquivocation of a settled job, the compensation burns": async (world) => {
    const job = await settledJob(world);
    await burning(world);
    return await items(world).proveEquivocation(job);
  },
  "proveEquivocation in a dispute, paid": async (world) =>
    await items(world).proveEquivocation(await disputedJob(world, { by: world.client })),
  "proveEquivocation, the slash writes votes": async (world) => {
    const job = await disputedJob(world, { by: world.client });
    await votingTreasury(world);
    return await items(world).proveEquivocation(job);
  },
  "collectDebt for a worker who burns": async (world) => {
    const { escrow, hostile } = world;
    const job = await disputedProvenJob(world, { by: world.client });
    await hostile.setBehaviour(escrow, Behaviour.Revert);
    await sendRuling(world, job, Ruling.GatewayAtFault);
    await hostile.setBehaviour(escrow, Behaviour.Standard);
    await burning(world, false);
    return items(world).collectDebt(job);
  },
};

describe("ITEM_GAS", () => {
  for (const [kind, prepare] of Object.entries(kinds)) {
    it(`is enough for ${kind}`, async () => {
      // Without a reserve, so that the treasury has something to pay; with a share of the fee, which is written and moved, too.
      const world = await withShare(rich(freshHostileWorldWithoutReserve()));
      if (kind.includes("by the operator, proven")) await fundReserve(world, 60);
      const item = await prepare(world);
      const floor = await world.escrow.ITEM_GAS();
      const { failures, gasUsed } = await executeBatch(world, world.gateway, [item], floor + AROUND);
      expect(failures).to.deep.equal([]);
      expect(gasUsed).to.be.lessThan(floor);
    });
  }
});
