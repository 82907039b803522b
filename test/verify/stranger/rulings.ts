import type { Hex } from "viem";
import { describe, expect, it } from "vitest";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { ChainStatus } from "../../../protocol/job-status.ts";
import { people, Ruling, workerKey } from "../support/protocol.ts";
import { CHARGE, FEE, refused, SLASH, type World } from "./world.ts";

/** What a quorum of arbiters, or two signatures, do to each side. */
export function rulings(world: World): void {
  describe("a client whose text is not the one its worker signed", () => {
    it("disputes on chain without the API, is refunded after a quorum, and the worker is slashed", async () => {
      const { jobId, completion } = await world.p.settle();
      const [before, staked, held] = [
        await world.client(),
        (await world.worker()).stake,
        await world.tokens(world.treasury),
      ];
      await world.p.dispute(people.client, completion);
      expect(await world.client()).toEqual({ free: before.free - 100, escrowed: before.escrowed + 100 });
      expect((await world.jobOf(jobId)).status).toBe(ChainStatus.Disputed);

      await world.p.send(people.arbiters[0], world.p.panel, "vote", [jobId, Ruling.WorkerAtFault]);
      expect((await world.jobOf(jobId)).status).toBe(ChainStatus.Disputed);
      await world.p.send(people.arbiters[2], world.p.panel, "vote", [jobId, Ruling.WorkerAtFault]);
      expect((await world.jobOf(jobId)).status).toBe(ChainStatus.Refunded);
      expect(await world.client()).toEqual({ free: before.free + 8, escrowed: before.escrowed });
      expect((await world.worker()).stake).toBe(staked - SLASH);
      expect(await world.tokens(world.treasury)).toBe(held - CHARGE);
    });

    it("cannot have the ruling before the quorum, nor from a stranger, nor twice", async () => {
      const { jobId, completion } = await world.p.settle();
      await world.p.dispute(people.client, completion);
      await refused(world.p.send(people.stranger, world.p.panel, "vote", [jobId, Ruling.WorkerAtFault]));
      await refused(world.p.send(people.client, world.p.escrow, "rule", [jobId, Ruling.WorkerAtFault]));
      await world.p.send(people.arbiters[0], world.p.panel, "vote", [jobId, Ruling.Rejected]);
      await refused(world.p.send(people.arbiters[0], world.p.panel, "vote", [jobId, Ruling.Rejected]));
      const [before, held] = [await world.client(), await world.tokens(world.treasury)];
      await world.p.send(people.arbiters[1], world.p.panel, "vote", [jobId, Ruling.Rejected]);
      // The bond went to the treasury and the charge stands.
      expect(await world.client()).toEqual({ free: before.free, escrowed: before.escrowed - 100 });
      expect(await world.tokens(world.treasury)).toBe(held + 1_000_000n);
      expect((await world.jobOf(jobId)).status).toBe(ChainStatus.Settled);
      await refused(world.p.dispute(people.client, completion));
    });
  });

  describe("a gateway at fault", () => {
    it("costs the treasury the charge, and the worker nothing", async () => {
      const { jobId, completion } = await world.p.settle();
      const [before, staked, held] = [
        await world.client(),
        (await world.worker()).stake,
        await world.tokens(world.treasury),
      ];
      await world.p.dispute(people.gateway, completion);
      await world.p.vote(jobId, Ruling.GatewayAtFault);
      expect(await world.client()).toEqual({ free: before.free + 8, escrowed: before.escrowed });
      expect((await world.worker()).stake).toBe(staked);
      expect(await world.tokens(world.treasury)).toBe(held - CHARGE);
    });

    it("that hid a proven answer: the client has its escrow back, the treasury pays the worker", async () => {
      const before = await world.client();
      const { jobId, completion } = await world.p.prove();
      const [paid, staked] = [await world.tokens(workerKey.address), (await world.worker()).stake];
      await world.p.dispute(people.client, completion, `0x${"00".repeat(32)}`);
      await world.p.vote(jobId, Ruling.GatewayAtFault);
      expect(await world.client()).toEqual(before);
      expect(await world.tokens(workerKey.address)).toBe(paid + CHARGE - FEE);
      expect((await world.worker()).stake).toBe(staked);
    });
  });

  describe("a worker that signs two answers", () => {
    it("is slashed by anyone who holds both, without a vote", async () => {
      const { jobId, completion } = await world.p.settle();
      const [before, staked] = [await world.client(), (await world.worker()).stake];
      const second = { ...completion, proofHash: answerHash("another answer") };
      const signatures = await Promise.all(
        [completion, second].map((one) => world.p.sign(workerKey, "Completion", one)),
      );
      const [first, other] = signatures as [{ r: Hex; vs: Hex }, { r: Hex; vs: Hex }];
      await world.p.send(people.stranger, world.p.escrow, "proveEquivocation", [completion, first, second, other]);
      expect((await world.worker()).stake).toBe(staked - SLASH);
      expect((await world.jobOf(jobId)).status).toBe(ChainStatus.Refunded);
      expect((await world.client()).free).toBe(before.free + 8);
      // Once a job.
      await refused(
        world.p.send(people.stranger, world.p.escrow, "proveEquivocation", [completion, first, second, other]),
      );
      expect((await world.worker()).stake).toBe(staked - SLASH);
    });
  });
}
