import { type Hex, keccak256, toBytes } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { toApiJobId } from "../../../protocol/job-id.ts";
import { people } from "../support/protocol.ts";
import { KEYS, type World } from "./world.ts";

/** Disputes, and what the treasury owes after them. */
export function treasury(world: World): void {
  describe("disputes and the treasury", () => {
    it("an arbiter sees the open dispute, votes, and the quorum rules; the treasury's debt is collected later", async () => {
      const { jobId } = await world.p.settle();
      await world.p.dispute(people.client, jobId);
      const id = toApiJobId(jobId);
      expect(await world.json("disputes list")).toMatchObject([
        { job_id: id, opened_by: "wallet", joined_hash: null, credits: 8, bond: 100, quorum: 2, can_expire: false },
      ]);
      await expect(world.operator(`disputes vote ${id} rejected --yes`, KEYS.stranger)).rejects.toThrow(
        /Panel_NotAnArbiter/,
      );
      await expect(world.operator(`disputes expire ${id} --yes`, KEYS.stranger)).rejects.toThrow(/Job_TooEarly/);
      // The treasury has less than the charge of 80,000 units.
      await world.operator(`disputes vote ${id} worker-at-fault --yes`, KEYS.arbiters[0]);
      await world.operator(`disputes vote ${id} worker-at-fault --yes`, KEYS.arbiters[1]);
      expect(await world.json("disputes list")).toEqual([]);
      const { debts } = await world.json("treasury show");
      expect(debts).toMatchObject([{ job_id: id, to: "client" }]);
      await expect(world.operator(`treasury collect ${id} --yes`, KEYS.stranger)).rejects.toThrow(
        /Dispute_NothingPaid/,
      );
      await world.p.send(people.stranger, world.p.token, "mint", [
        world.p.chain.deployment.contracts.ProtocolTreasury,
        1_000_000n,
      ]);
      await world.operator(`treasury collect ${id} --yes`, KEYS.stranger);
      expect(await world.json("treasury show")).toMatchObject({ debts: [], fee_bps: 1_000, compensation_cap: 20_000 });
    });

    it("an operator's disputes wait for their wallets; an arbiter rejects several at once", async () => {
      const jobs = [(await world.p.settle()).jobId, (await world.p.settle()).jobId];
      for (const jobId of jobs) await world.p.dispute(people.gateway, jobId);
      await world.p.join(jobs[1] as Hex, answerHash("what the wallet has"));
      const ids = jobs.map(toApiJobId);
      expect(await world.json("disputes list")).toMatchObject([
        { job_id: ids[0], opened_by: "operator", joined_hash: null, can_be_ruled: false },
        { job_id: ids[1], opened_by: "operator", joined_hash: answerHash("what the wallet has") },
      ]);
      const reject = `disputes reject ${ids.join(" ")} --yes`;
      await expect(world.operator(reject, KEYS.arbiters[0])).rejects.toThrow(/Panel_TooEarly/);
      await world.p.later(90);
      expect(await world.json("disputes list")).toMatchObject([{ can_be_ruled: true }, { can_be_ruled: true }]);
      for (const key of KEYS.arbiters) await world.operator(reject, key);
      expect(await world.json("disputes list")).toEqual([]);
    });

    it("bounds what the treasury pays on a day by vote only", async () => {
      await world.decide("treasury propose-cap 5000");
      expect(await world.json("treasury show")).toMatchObject({ compensation_cap: 5_000 });
      await expect(world.operator("treasury propose-cap 1000001", KEYS.holder)).rejects.toThrow("from 0 to 1000000");
    });

    it("pays out by vote only", async () => {
      const { address } = privateKeyToAccount(keccak256(toBytes("a receiver")));
      await expect(world.operator(`treasury propose-pay stablecoin ${address} 0`, KEYS.holder)).rejects.toThrow(
        "above 0",
      );
      await world.decide(`treasury propose-pay stablecoin ${address} 500000`);
      expect(await world.p.read({ ...world.p.token, functionName: "balanceOf", args: [address] })).toBe(500_000n);
    });
  });
}
