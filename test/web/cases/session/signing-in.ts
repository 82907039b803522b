import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { WebClient } from "../../support/web-client.ts";
import type { Visitor } from "./visitor.ts";

const MINUTE = 60_000;

/** Which signed messages open a session. */
export function signingIn(visitor: Visitor): void {
  describe("signing in", () => {
    it("opens a session for the wallet that signed", async () => {
      const { status, headers, body } = await visitor.web.signIn(visitor.account);
      expect(status).toBe(200);
      expect(body.session.wallet).toBe(visitor.account.address);
      const cookie = headers.get("set-cookie") ?? "";
      expect(cookie).toMatch(/HttpOnly/i);
      expect(cookie).toMatch(/SameSite=Strict/i);
      expect((await visitor.web.get("/session")).body.session.wallet).toBe(visitor.account.address);
    });

    it("takes each signed message once", async () => {
      const message = await visitor.web.message(visitor.account);
      const body = { message, signature: await visitor.account.signMessage({ message }) };
      expect((await visitor.web.post("/session", body)).status).toBe(200);
      const again = await new WebClient(visitor.stack).post("/session", body);
      expect([again.status, again.body.error.code]).toEqual([401, "nonce_used"]);
      expect(again.headers.get("set-cookie")).toBeNull();
    });

    it("takes a message once even when it is sent twice at the same moment", async () => {
      const message = await visitor.web.message(visitor.account);
      const body = { message, signature: await visitor.account.signMessage({ message }) };
      const answers = await Promise.all([1, 2, 3, 4].map(() => new WebClient(visitor.stack).post("/session", body)));
      expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    });

    it.each([
      ["a nonce that we did not issue", { nonce: "0123456789abcdef0123456789abcdef" }, 401, "nonce_expired"],
      ["a nonce with another expiry written in", { nonce: `ffffffff${"0".repeat(56)}` }, 401, "nonce_expired"],
      ["another domain", { domain: "evil.example" }, 400, "wrong_domain"],
      ["another site's address", { uri: "https://evil.example/app" }, 400, "wrong_domain"],
      ["another chain", { chainId: 1 }, 400, "wrong_chain"],
      ["a message that has expired", { expirationTime: new Date(Date.now() - 1_000) }, 401, "message_expired"],
      ["a message valid for a day", { expirationTime: new Date(Date.now() + 1_440 * MINUTE) }, 401, "message_expired"],
      ["a message from the future", { issuedAt: new Date(Date.now() + 60 * MINUTE) }, 401, "message_expired"],
    ])("refuses %s", async (_what, fields, status, code) => {
      const answer = await visitor.web.signIn(visitor.account, fields);
      expect([answer.status, answer.body.error.code]).toEqual([status, code]);
      expect(visitor.web.cookie).toBeNull();
    });

    it("refuses a message without an end", async () => {
      const message = (await visitor.web.message(visitor.account)).replace(/\nExpiration Time: .*/, "");
      const answer = await visitor.web.post("/session", {
        message,
        signature: await visitor.account.signMessage({ message }),
      });
      expect(answer.body.error.code).toBe("message_expired");
    });

    it("refuses a signature of another wallet, and the message stays good for the right one", async () => {
      const message = await visitor.web.message(visitor.account);
      const other = privateKeyToAccount(generatePrivateKey());
      const wrong = await visitor.web.post("/session", { message, signature: await other.signMessage({ message }) });
      expect([wrong.status, wrong.body.error.code]).toEqual([401, "invalid_signature"]);
      const right = await visitor.web.post("/session", {
        message,
        signature: await visitor.account.signMessage({ message }),
      });
      expect(right.status).toBe(200);
    });

    it("refuses what is no sign-in message", async () => {
      const message = "Give me all your credits";
      const answer = await visitor.web.post("/session", {
        message,
        signature: await visitor.account.signMessage({ message }),
      });
      expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_message"]);
    });
  });
}
