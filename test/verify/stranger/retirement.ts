import { encodeFunctionData, keccak256, toBytes } from "viem";
import { describe, expect, it } from "vitest";
import { newJobId } from "../../../protocol/job-id.ts";
import { ChainStatus } from "../../../protocol/job-status.ts";
import { MODEL, people } from "../support/protocol.ts";
import { DAY, refused, type World } from "./world.ts";

/** A decision of the holders of the service's token. The clock moves by weeks. */
export function retirement(world: World): void {
  describe("the end of a model", () => {
    it("is proposed, voted, queued and executed; the id works until its date and not after", async () => {
      const holder = people.svcHolder;
      await world.p.send(holder, world.p.svc, "delegate", [holder.address]);
      await world.p.later(1);
      // Nobody can do it without a vote.
      const retiresAt = (await world.p.now()) + 30 * DAY;
      await refused(world.p.send(holder, world.p.catalog, "scheduleRetirement", [MODEL, retiresAt]));

      const data = encodeFunctionData({
        abi: world.p.catalog.abi,
        functionName: "scheduleRetirement",
        args: [MODEL, retiresAt],
      });
      const what = "Retire qwen3-8b";
      const proposal = [[world.p.catalog.address], [0n], [data], keccak256(toBytes(what))] as const;
      await world.p.send(holder, world.p.governor, "propose", [[world.p.catalog.address], [0n], [data], what]);
      const id = await world.p.read({ ...world.p.governor, functionName: "hashProposal", args: [...proposal] });
      await world.p.later(DAY + 1);
      await world.p.send(holder, world.p.governor, "castVote", [id, 1]);
      await world.p.later(5 * DAY);
      await world.p.send(people.stranger, world.p.governor, "queue", [...proposal]);
      await refused(world.p.send(people.stranger, world.p.governor, "execute", [...proposal]));
      await world.p.later(2 * DAY);
      await world.p.send(people.stranger, world.p.governor, "execute", [...proposal]);
      const { retiresAt: stored } = await world.p.read({ ...world.p.catalog, functionName: "modelAt", args: [MODEL] });
      expect(stored).toBe(retiresAt);

      const locks = async (time: number) => {
        const jobId = newJobId();
        await world.p.rpc.setNextBlockTimestamp({ timestamp: BigInt(time) });
        await world.p.batch(people.gateway, [world.p.lockCall(jobId)]);
        return (await world.jobOf(jobId)).status === ChainStatus.Locked;
      };
      expect(await locks(retiresAt - 1)).toBe(true);
      expect(await locks(retiresAt)).toBe(false);
    });
  });
}
