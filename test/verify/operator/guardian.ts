import { describe, expect, it } from "vitest";
import { people } from "../support/protocol.ts";
import { KEYS, type World } from "./world.ts";

/** What one key may do alone, and what it takes to undo it. */
export function guardian(world: World): void {
  describe("the guardian", () => {
    it("pauses and resumes; without --yes nothing is sent, and a stranger is told why not", async () => {
      const shown = await world.json("protocol pause", KEYS.guardian);
      expect(shown).toMatchObject({
        sent: false,
        contract: "InferenceEscrow",
        function: "setPaused",
        args: [true],
        from: people.guardian.address,
      });
      expect(await world.locks()).toBe(true);
      await expect(world.operator("protocol pause --yes", KEYS.stranger)).rejects.toThrow(
        /would revert: Admin_NotGuardian/,
      );
      expect(await world.json("protocol pause --yes", KEYS.guardian)).toMatchObject({ sent: true });
      expect(await world.locks()).toBe(false);
      await world.operator("protocol resume --yes", KEYS.guardian);
      expect(await world.locks()).toBe(true);
    });

    it("stops an operator from locking, and only a vote lets it lock again", async () => {
      await expect(world.operator("operators stop 1 --yes", KEYS.stranger)).rejects.toThrow(/Admin_NotGuardian/);
      await world.operator("operators stop 1 --yes", KEYS.guardian);
      expect(await world.locks()).toBe(false);
      const [first] = await world.json("operators list");
      expect(first).toMatchObject({ operator: 1, stopped: true });
      expect(first.signers.map(({ address }: { address: string }) => address)).toContain(people.gateway.address);
      await world.decide("operators propose-start 1");
      expect(await world.locks()).toBe(true);
    });
  });
}
