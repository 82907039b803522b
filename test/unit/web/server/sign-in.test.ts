/** Signing in by a message: it must be the whole message of EIP-4361, so that every wallet can tell its user whom it is for. */
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { createSiweMessage } from "viem/siwe";
import { expect, it } from "vitest";
import { type SignInCheck, verifySignIn } from "../../../../web/server/sign-in.ts";

const account = privateKeyToAccount(generatePrivateKey());
const check = {
  audience: { origin: "https://app.example.com", chainId: 7 },
  nonces: { isGood: () => true, spend: async () => true },
  contracts: { verify: async () => false },
} as unknown as SignInCheck;

type Fields = Partial<Parameters<typeof createSiweMessage>[0]>;
const message = (fields: Fields = {}) =>
  createSiweMessage({
    address: account.address,
    chainId: 7,
    domain: "app.example.com",
    uri: "https://app.example.com/app",
    version: "1",
    nonce: "a".repeat(64),
    issuedAt: new Date(),
    expirationTime: new Date(Date.now() + 300_000),
    ...fields,
  });
const signIn = async (text: string) =>
  verifySignIn({ message: text, signature: await account.signMessage({ message: text }), from: "192.0.2.1" }, check);

it.each<[string, Fields]>([
  ["without a statement", {}],
  ["with a statement", { statement: "Sign in to manage your credits." }],
  ["with its scheme", { scheme: "https" }],
  ["with every other field", { notBefore: new Date(0), requestId: "7", resources: ["https://example.com/a"] }],
])("a message %s signs in", async (_form, fields) => {
  expect(await signIn(message(fields))).toBe(account.address);
});

it.each<[string, (good: string) => string]>([
  ["text after it", (good) => `${good}\nThis is only to see your picture.`],
  ["text before it", (good) => `A gift!\n\n${good}`],
  ["text between address and URI", (good) => good.replace("\n\n\nURI:", "\n\nClaim it\nhere\n\nURI:")],
  ["another site's message around it", (good) => `evil.example wants you to win.\n${good}`],
  ["a second URI", (good) => good.replace("\nVersion", "\nX: y\nURI: https://app.example.com/app\nVersion")],
  ["its fields in another order", (good) => good.replace("Version: 1\nChain ID: 7", "Chain ID: 7\nVersion: 1")],
  ["a line break at its end", (good) => `${good}\n`],
  ["other line breaks", (good) => good.replaceAll("\n", "\r\n")],
])("a message with %s is no sign-in message", async (_what, change) => {
  await expect(signIn(change(message()))).rejects.toMatchObject({ code: "invalid_message" });
});

it("a message for the same host without TLS is for another site", async () => {
  await expect(signIn(message({ scheme: "http" }))).rejects.toMatchObject({ code: "wrong_domain" });
});
