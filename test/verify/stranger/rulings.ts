import { describe, expect, it } from "vitest";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { ChainStatus } from "../../../protocol/job-status.ts";
import { people, Ruling, workerKey } from "../support/protocol.ts";
import { CHARGE, FEE, refused, SLASH, type World } from "./world.ts";

/** What a quorum of arbiters, or two signatures, do to each side. */
export function rulings(world: World): void {
  describe("a client whose text is not the one its worker signed", () => {
    it("disputes on chain without the API, is refunded after a quorum, and the worker is slashed", async () => {
      const { jobId } = await world.p.settle();
      const [before, staked, held] = [
        await world.client(),
        (await world.worker()).stake,
        await world.tokens(world.treasury),
      ];
      await world.p.dispute(people.client, jobId);
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
      const { jobId } = await world.p.settle();
      await world.p.dispute(people.client, jobId);
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
      await refused(world.p.dispute(people.client, jobId));
    });
  });

  describe("an operator at fault", () => {
    it("pays the charge out of its reserve, and the treasury and the worker nothing", async () => {
      const { jobId } = await world.p.settle();
      const [before, staked, held] = [
        await world.client(),
        (await world.worker()).stake,
        await world.tokens(world.treasury),
      ];
      const { reserve } = await world.operator();
      await world.p.dispute(people.gateway, jobId, answerHash("what the gateway says"));
      // Its client may speak first, in the job's own window: until then no vote counts.
      await refused(world.p.vote(jobId, Ruling.GatewayAtFault));
      await world.p.join(jobId, answerHash("what the client received"));
      await refused(world.p.join(jobId));
      await world.p.vote(jobId, Ruling.GatewayAtFault);
      expect(await world.client()).toEqual({ free: before.free + 8, escrowed: before.escrowed });
      expect((await world.worker()).stake).toBe(staked);
      expect(await world.operator()).toEqual({ reserve: reserve - 8, held: 0 });
      expect(await world.tokens(world.treasury)).toBe(held);
    });

    it("that hid a proven answer: the client has its escrow back, the operator pays the worker", async () => {
      const before = await world.client();
      const { jobId } = await world.p.prove();
      const { reserve } = await world.operator();
      const [paid, staked, held] = [
        await world.tokens(workerKey.address),
        (await world.worker()).stake,
        await world.tokens(world.treasury),
      ];
      await world.p.dispute(people.client, jobId, `0x${"00".repeat(32)}`);
      await world.p.vote(jobId, Ruling.GatewayAtFault);
      expect(await world.client()).toEqual(before);
      expect(await world.tokens(workerKey.address)).toBe(paid + CHARGE - FEE);
      expect((await world.worker()).stake).toBe(staked);
      expect(await world.operator()).toEqual({ reserve: reserve - 8, held: 0 });
      // Of what the operator pays the protocol has its fee.
      expect(await world.tokens(world.treasury)).toBe(held + FEE);
    });

    it("that doubted an honest proof loses its bond to the worker", async () => {
      const { jobId, completion } = await world.p.prove();
      const { reserve } = await world.operator();
      const paid = await world.tokens(workerKey.address);
      await world.p.dispute(people.gateway, jobId);
      expect(await world.operator()).toEqual({ reserve: reserve - 8, held: 8 });
      await world.p.join(jobId, completion.proofHash);
      await world.p.vote(jobId, Ruling.Rejected);
      expect(await world.operator()).toEqual({ reserve: reserve - 8, held: 0 });
      expect(await world.tokens(workerKey.address)).toBe(paid + CHARGE);
      // The proof stands: anyone finalizes it at once.
      await world.p.send(people.stranger, world.p.escrow, "finalize", [completion]);
      expect(await world.tokens(workerKey.address)).toBe(paid + CHARGE + CHARGE - FEE);
      expect((await world.jobOf(jobId)).status).toBe(ChainStatus.Settled);
    });
  });

  describe("a worker that signs two answers", () => {
    it("is slashed by anyone who holds both, without a vote; the client disputes the charge without a bond", async () => {
      const { jobId, completion } = await world.p.settle();
      const [before, staked, deferred] = [await world.client(), (await world.worker()).stake, await world.claimable()];
      const second = { ...completion, proofHash: answerHash("another answer") };
      const { signature } = await world.p.signedIn(jobId);
      const other = await world.p.sign(workerKey, "Completion", second);
      await world.p.send(people.stranger, world.p.escrow, "proveEquivocation", [completion, signature, second, other]);
      expect((await world.worker()).stake).toBe(staked - SLASH);
      // The charge stands; its client has the protocol's fee of it.
      expect((await world.jobOf(jobId)).status).toBe(ChainStatus.Settled);
      expect(await world.client()).toEqual(before);
      expect(await world.claimable()).toBe(deferred + FEE);
      // Once a job.
      await refused(
        world.p.send(people.stranger, world.p.escrow, "proveEquivocation", [completion, signature, second, other]),
      );
      expect((await world.worker()).stake).toBe(staked - SLASH);

      await refused(world.p.dispute(people.gateway, jobId));
      await world.p.dispute(people.client, jobId);
      expect(await world.client()).toEqual(before);
      await world.p.vote(jobId, Ruling.WorkerAtFault);
      // Slashed once; the rest of the charge comes back: 7 credits, and 0.2 as tokens.
      expect((await world.worker()).stake).toBe(staked - SLASH);
      expect((await world.jobOf(jobId)).status).toBe(ChainStatus.Refunded);
      expect((await world.client()).free).toBe(before.free + 7);
      expect(await world.claimable()).toBe(deferred + CHARGE - 70_000n);
    });
  });
}
