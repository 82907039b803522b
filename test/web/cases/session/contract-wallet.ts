import { beforeAll, describe, expect, it } from "vitest";
import { type ContractWallet, deployContractWallet } from "../../support/contract-wallet.ts";
import type { Visitor } from "./visitor.ts";

/** Signing in with a wallet that is a contract: the chain is asked whether it signed (ERC-1271). */
export function contractWallets(visitor: Visitor): void {
  describe("a wallet that is a contract", () => {
    let wallet: ContractWallet;
    beforeAll(async () => {
      wallet = await deployContractWallet(visitor.stack);
    });

    it("signs in with what its contract takes for a signature", async () => {
      const { status, body } = await visitor.web.signIn(wallet.account);
      expect([status, body.session?.wallet]).toEqual([200, wallet.account.address]);
      expect((await visitor.web.get("/account")).body).toMatchObject({ free: 0, has_account: false });
    });

    it("is refused with a signature that its contract does not take, and the message can be signed again", async () => {
      const message = await visitor.web.message(wallet.account);
      const signature = await visitor.account.signMessage({ message });
      for (const wrong of [signature, `${signature}${wallet.account.address.slice(2)}`, "0x1234"]) {
        const refused = await visitor.web.post("/session", { message, signature: wrong });
        expect([refused.status, refused.body.error.code], wrong).toEqual([401, "invalid_signature"]);
      }
      const signed = await wallet.account.signMessage({ message });
      expect((await visitor.web.post("/session", { message, signature: signed })).status).toBe(200);
    });

    it("does not sign for another contract", async () => {
      const other = await deployContractWallet(visitor.stack);
      const message = await visitor.web.message(other.account);
      const refused = await visitor.web.post("/session", {
        message,
        signature: await wallet.account.signMessage({ message }),
      });
      expect([refused.status, refused.body.error.code]).toEqual([401, "invalid_signature"]);
    });
  });
}
