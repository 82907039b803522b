/** A client's signed consent to one job: how the header is read, and what is refused before it costs anybody gas. */
import { createHash } from "node:crypto";
import { type Hex, zeroAddress } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import type { Model } from "../../../../api/chain/directory.ts";
import { type AuthorizationParts, checkAuthorization, parseAuthorization } from "../../../../api/jobs/authorization.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { type Authorization, authorizationTypes, escrowDomain } from "../../../../protocol/messages.ts";

const NOW = 1_900_000_000;
const ESCROW: Hex = `0x${"e5".repeat(20)}`;
const wallet: Hex = `0x${"11".repeat(20)}`;
const body = Buffer.from('{"model":"m"}');
const key = privateKeyToAccount(generatePrivateKey());
const model = {
  number: 3,
  id: "m",
  creditsPerRequest: 8,
  creditsPer1kTokens: 4,
  contextWindow: 32_768,
} as Model;
const context: AuthorizationParts = {
  chainId: 1,
  escrow: ESCROW,
  head: { time: NOW },
  operator: { id: 1 },
  times: { queue: 30, lock: 20 },
};

const signature = `0x${"5e".repeat(65)}`;
const FIELDS = {
  job_id: "job_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e",
  max_tokens: "2000",
  max_credits: "8",
  expires_at: "1900000300",
  signature,
};
const header = (fields: Record<string, string>) =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${value}`)
    .join(";");

describe("the header", () => {
  it("is read in any order, with spaces behind the semicolons", () => {
    const read = {
      jobId: "0x0198c0de5f7a7c3e9b1d2f3a4b5c6d7e",
      maxTokens: 2_000,
      maxCredits: 8,
      expiresAt: 1_900_000_300,
      signature,
    };
    expect(parseAuthorization(header(FIELDS))).toEqual(read);
    const turned = Object.fromEntries(Object.entries(FIELDS).reverse());
    expect(parseAuthorization(header(turned).replaceAll(";", "; "))).toEqual(read);
  });

  it.each([
    ["nothing", "", "'' is no field of it; its fields are job_id, max_tokens, max_credits, expires_at, signature"],
    ["another field", `${header(FIELDS)};operator=1`, "'operator' is no field of it"],
    ["a name that every object has", `${header(FIELDS)};constructor=1`, "'constructor' is no field of it"],
    ["a field twice", `${header(FIELDS)};max_tokens=1`, "it has max_tokens twice"],
    ["two headers in one", `${header(FIELDS)}, ${header(FIELDS)}`, "it has max_tokens twice"],
    ["a semicolon at its end", `${header(FIELDS)};`, "'' is no field of it"],
  ])("with %s is refused by what is wrong", (_what, text, why) => {
    expect(() => parseAuthorization(text)).toThrow(why);
  });

  it.each(Object.keys(FIELDS))("without %s is refused", (name) => {
    const { [name]: _, ...rest } = FIELDS as Record<string, string>;
    expect(() => parseAuthorization(header(rest))).toThrow(`${name} is missing`);
  });

  it.each([
    ["job_id", "0198c0de5f7a7c3e9b1d2f3a4b5c6d7e", "job_id must be `job_` and 32 hex digits"],
    ["job_id", FIELDS.job_id.toUpperCase(), "job_id must be"],
    ["max_tokens", "0", "max_tokens must be a whole number of tokens"],
    ["max_tokens", "4294967296", "max_tokens must be"],
    ["max_tokens", "1e3", "max_tokens must be"],
    ["max_tokens", "02000", "max_tokens must be"],
    ["max_credits", "-8", "max_credits must be a whole number of credits"],
    ["max_credits", "8.5", "max_credits must be"],
    ["expires_at", "soon", "expires_at must be Unix seconds"],
    ["expires_at", "", "expires_at must be"],
    ["signature", "0x5e", "signature must be 0x and 130 hex digits"],
    ["signature", signature.slice(2), "signature must be"],
  ])("with %s=%s is refused", (name, value, why) => {
    const error = (() => {
      try {
        return parseAuthorization(header({ ...FIELDS, [name]: value }));
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toMatchObject({ code: "invalid_request", param: "x-service-authorization" });
    expect((error as Error).message).toContain(why);
  });
});

/** What the client signs; a test changes a part of it. */
const message: Authorization = {
  jobId: newJobId(NOW * 1000),
  wallet,
  operator: 1,
  model: 3,
  maxTokens: 2_000,
  maxCredits: 8,
  requestHash: `0x${createHash("sha256").update(body).digest("hex")}`,
  expiresAt: NOW + 300,
};

async function check(
  change: Partial<Authorization> = {},
  { maxTokens = 2_000, sentBody = body, of = key.address } = {},
) {
  const signed = { ...message, ...change };
  const domain = escrowDomain(1, ESCROW);
  const bySigner = await key.signTypedData({
    domain,
    types: authorizationTypes,
    primaryType: "Authorization",
    message: signed,
  });
  const { jobId, maxTokens: most, maxCredits, expiresAt } = signed;
  const given = { jobId, maxTokens: most, maxCredits, expiresAt, signature: bySigner };
  return checkAuthorization(
    context,
    given,
    { wallet, model, maxTokens, bodyHash: createHash("sha256").update(sentBody).digest() },
    of as Hex,
  );
}

describe("an authorization", () => {
  it("that covers the request comes out as the message that the contract is sent", async () => {
    expect((await check()).message).toEqual(message);
    // More than the request needs is no harm: the price of what was signed is locked.
    const more = { maxTokens: 4_000, maxCredits: 16 };
    expect((await check(more, { maxTokens: 10 })).message).toEqual({ ...message, ...more });
  });

  it.each([
    ["an id that is no UUIDv7", { jobId: `0x${"11".repeat(16)}` as Hex }, "must be a UUIDv7"],
    ["an old id", { jobId: newJobId((NOW - 61) * 1000) }, "must be made within 60 seconds of now"],
    ["an id from the future", { jobId: newJobId((NOW + 61) * 1000) }, "must be made within 60 seconds of now"],
    ["that has expired", { expiresAt: NOW }, `it expired at ${NOW}`],
    ["that may end before its lock is mined", { expiresAt: NOW + 49 }, `expires_at must be at least ${NOW + 50}`],
    ["that lasts too long", { expiresAt: NOW + 541 }, "must be within 540 seconds"],
    ["for fewer tokens than the body asks for", { maxTokens: 1_999 }, "asks for 2000 tokens, and max_tokens is 1999"],
    [
      "for more tokens than the model has",
      { maxTokens: 32_769, maxCredits: 1_000 },
      "more than the 32768 tokens of 'm'",
    ],
    ["for fewer credits than its tokens cost", { maxCredits: 7 }, "lock 8 credits, more than max_credits"],
  ])("with %s is refused", async (_what, change, why) => {
    const error = await check(change).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "invalid_request", status: 400, param: "x-service-authorization" });
    expect(error.message).toContain(why);
  });

  it.each([
    ["another body", {}, { sentBody: Buffer.from('{"model": "m"}') }],
    ["another operator", { operator: 2 }, {}],
    ["another model", { model: 4 }, {}],
    ["another wallet", { wallet: ESCROW }, {}],
    ["another key", {}, { of: wallet }],
  ])("for %s is not this wallet's consent: 403 with the message that was checked", async (_what, change, given) => {
    const error = await check(change, given).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "authorization_invalid", status: 403 });
    expect(error.details.message).toMatchObject({ wallet, operator: 1, model: 3 });
    expect(error.details.signer).not.toBe(error.details.key);
  });

  it("holds long enough if it outlives the wait for a place and the lock's own time", async () => {
    const message = { expiresAt: NOW + 50 };
    expect(await check(message)).toMatchObject({ message });
  });

  it("is refused for a wallet without a key, which believes that it has one", async () => {
    await expect(check({}, { of: zeroAddress })).rejects.toMatchObject({
      code: "authorization_invalid",
      message: expect.stringContaining("has no authorization key"),
      details: { key: null },
    });
  });
});
