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

    it("disables a gateway's lock, and only a vote gives it back", async () => {
      const { gateway } = people;
      await world.operator(`gateways disable ${gateway.address} --yes`, KEYS.guardian);
      expect(await world.locks()).toBe(false);
      expect(await world.json("gateways list")).toMatchObject([
        { id: 1, signer: gateway.address, may_lock: false },
        { id: 2, may_lock: true },
      ]);
      await expect(world.operator(`gateways propose-add ${gateway.address} --yes`, KEYS.holder)).rejects.toThrow(
        /Admin_GatewayExists/,
      );
      await world.decide(`gateways propose-enable ${gateway.address}`);
      expect(await world.locks()).toBe(true);
    });
  });
}
