import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { people } from "../support/protocol.ts";
import { KEYS, type World } from "./world.ts";

/** Operators: admitted by a vote, run by their admins. */
export function operators(world: World): void {
  describe("an operator", () => {
    const adminKey = generatePrivateKey();
    const admin = privateKeyToAccount(adminKey);
    const gatewayKey = generatePrivateKey();
    const gateway = privateKeyToAccount(gatewayKey);
    const newest = async () => (await world.json("operators list")).at(-1);
    /** The number of the one that is admitted here. */
    let number = 0;

    it("is admitted by a vote", async () => {
      await world.decide(`operators propose-admit ${admin.address}`);
      await world.p.rpc.setBalance({ address: admin.address, value: 10n ** 18n });
      number = (await newest()).operator;
      expect(await newest()).toEqual({
        operator: number,
        admin: admin.address,
        stopped: false,
        signers: [],
        reserve: 0,
        held: 0,
        leaving: null,
      });
    });

    it("adds and removes its gateways at once, with their consent", async () => {
      const { signer, signature } = await world.json(`signers consent ${number}`, gatewayKey);
      expect(signer).toBe(gateway.address);
      const add = `signers rotate ${number} --add ${signer}:${signature} --yes`;
      await expect(world.operator(add, KEYS.stranger)).rejects.toThrow(/would revert: Operator_NotAdmin/);
      const another = add.replace(signer, people.client.address);
      await expect(world.operator(another, adminKey)).rejects.toThrow(/would revert: Operator_NoConsent/);
      await world.operator(add, adminKey);
      expect(await newest()).toMatchObject({ signers: [{ address: signer, gas_wei: "0", removed_at: null }] });
      await world.operator(`signers rotate ${number} --remove ${signer} --yes`, adminKey);
      expect((await newest()).signers[0].removed_at).toMatch(/Z$/);
    });

    it("is told what is wrong with the keys that it names", async () => {
      const rotate = (more: string) => world.operator(`signers rotate ${number}${more} --yes`, adminKey);
      await expect(rotate("")).rejects.toThrow("name keys by --add");
      await expect(rotate(` --add ${gateway.address}`)).rejects.toThrow("a consent of 65 bytes");
      await expect(rotate(` --remove ${people.gateway.address}`)).rejects.toThrow(/Operator_NotASigner/);
      await expect(world.operator("signers consent 160", gatewayKey)).rejects.toThrow(
        `there is no operator 160; ${number} were admitted`,
      );
    });

    it("has a reserve that anyone funds, and that leaves with notice", async () => {
      const { token } = world.p;
      await world.p.send(people.svcHolder, token, "mint", [people.svcHolder.address, 5_000_000n]);
      const fund = `reserve fund ${number} 500`;
      const shown = await world.operator(fund, KEYS.holder);
      expect(shown).toContain("approve(");
      expect(shown).toContain("It will then also send: Add 500 credits");
      await world.operator(`${fund} --yes`, KEYS.holder);
      expect(await newest()).toMatchObject({ reserve: 500, leaving: null });

      const announce = `reserve announce ${number} 300 --yes`;
      await expect(world.operator(announce, KEYS.holder)).rejects.toThrow(/Operator_NotAdmin/);
      await world.operator(announce, adminKey);
      const withdraw = `reserve withdraw ${number} ${gateway.address} --yes`;
      await expect(world.operator(withdraw, adminKey)).rejects.toThrow(/Operator_ReserveStays/);
      const { leaving } = await newest();
      expect(leaving.credits).toBe(300);
      await world.p.later(Date.parse(leaving.from) / 1000 - (await world.p.now()));
      await world.operator(withdraw, adminKey);
      expect(await newest()).toMatchObject({ reserve: 200, leaving: null });
      expect(await world.p.read({ ...token, functionName: "balanceOf", args: [gateway.address] })).toBe(3_000_000n);
    });
  });
}
