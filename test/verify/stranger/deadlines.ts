import { parseEventLogs } from "viem";
import { describe, expect, it } from "vitest";
import { inferenceEscrowAbi } from "../../../protocol/generated/abi.ts";
import { newJobId } from "../../../protocol/job-id.ts";
import { ChainStatus } from "../../../protocol/job-status.ts";
import { people, Ruling, workerKey } from "../support/protocol.ts";
import { FEE, refused, SLASH, type World } from "./world.ts";

/** Who waits, and until when: the clock moves by days. */
export function deadlines(world: World): void {
  describe("arbiters that stay silent", () => {
    it("cost the protocol its fee: after 24 h, not a second before, anyone expires the dispute", async () => {
      const { jobId } = await world.p.settle();
      const [before, deferred] = [await world.client(), await world.claimable()];
      await world.p.dispute(people.client, jobId);
      const { lockedAt, deadline } = await world.jobOf(jobId);
      await world.p.rpc.setNextBlockTimestamp({ timestamp: BigInt(lockedAt + deadline - 1) });
      await refused(world.p.send(people.stranger, world.p.escrow, "expire", [jobId]));
      await world.p.rpc.setNextBlockTimestamp({ timestamp: BigInt(lockedAt + deadline) });
      await world.p.send(people.stranger, world.p.escrow, "expire", [jobId]);
      await refused(world.p.send(people.arbiters[0], world.p.panel, "vote", [jobId, Ruling.WorkerAtFault]));
      expect((await world.jobOf(jobId)).status).toBe(ChainStatus.Settled);
      // The bond is back; the fee of 0.8 credits waits as tokens, because credits are whole.
      expect(await world.client()).toEqual(before);
      expect(await world.claimable()).toBe(deferred + FEE);
      const held = await world.tokens(people.client.address);
      await world.p.send(people.stranger, world.p.escrow, "claim", [people.client.address]);
      expect(await world.tokens(people.client.address)).toBe(held + deferred + FEE);
    });
  });

  describe("a worker that tries to leave ahead of its slash", () => {
    it("cannot: its stake is still there at the ruling, and only the rest leaves two days later", async () => {
      const owner = people.svcHolder;
      await world.p.send(owner, world.p.svc, "approve", [world.p.registry.address, 10n ** 27n]);
      await world.p.send(owner, world.p.registry, "addStake", [workerKey.address, 2_000_000_000n]);
      const { jobId } = await world.p.settle();
      await world.p.send(owner, world.p.registry, "startUnbonding", [workerKey.address]);
      const { stake, unbondsAt } = await world.worker();
      await refused(world.p.send(owner, world.p.registry, "withdrawStake", [workerKey.address, owner.address]));
      await world.p.dispute(people.client, jobId);
      // It takes no new job from now on.
      const late = newJobId();
      await world.p.batch(people.gateway, [world.p.lockCall(late)]);
      const refusedItem = await world.p.batch(people.gateway, [
        await world.p.completeCall(await world.p.completionOf(late)),
      ]);
      expect(parseEventLogs({ abi: inferenceEscrowAbi, logs: refusedItem.logs })).toMatchObject([
        { eventName: "BatchItemFailed" },
      ]);

      // The last second in which the panel can rule is before the first in which the stake can leave.
      const { lockedAt, deadline } = await world.jobOf(jobId);
      expect(lockedAt + deadline).toBeLessThan(unbondsAt);
      await world.p.send(people.arbiters[0], world.p.panel, "vote", [jobId, Ruling.WorkerAtFault]);
      await world.p.rpc.setNextBlockTimestamp({ timestamp: BigInt(lockedAt + deadline - 1) });
      await world.p.send(people.arbiters[1], world.p.panel, "vote", [jobId, Ruling.WorkerAtFault]);
      expect((await world.worker()).stake).toBe(stake - SLASH);

      await world.p.rpc.setNextBlockTimestamp({ timestamp: BigInt(unbondsAt) });
      const held = await world.p.read({ ...world.p.svc, functionName: "balanceOf", args: [owner.address] });
      await world.p.send(owner, world.p.registry, "withdrawStake", [workerKey.address, owner.address]);
      const now = await world.p.read({ ...world.p.svc, functionName: "balanceOf", args: [owner.address] });
      expect(now - held).toBe((stake - SLASH) * 10n ** 12n);
    });
  });
}
