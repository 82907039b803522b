import { keccak256, toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { dispatchSchema, outputRequestSchema } from "../../protocol/dispatch.ts";
import {
  authorizationTypes,
  compactSignature,
  disputeRequestTypes,
  escrowDomain,
  jobMessageTypes,
  signerConsentTypes,
} from "../../protocol/messages.ts";

const account = mnemonicToAccount("test test test test test test test test test test test junk");
const domain = escrowDomain(31337, "0x5FbDB2315678afecb367f032d93F642f64180aa3");

const assignment = {
  jobId: `0x${"0a".repeat(16)}`,
  worker: account.address,
  attempt: 1,
  acknowledgeBy: 1_800_000_000,
} as const;
const body = {
  assignment,
  signature: `0x${"1b".repeat(65)}`,
  model: "qwen3-8b",
  request: { messages: [{ role: "user", content: "hi" }], max_tokens: 5 },
};

describe("job messages", () => {
  it.each([
    ["Assignment", "Assignment(bytes16 jobId,address worker,uint8 attempt,uint40 acknowledgeBy)"],
    ["Acknowledgement", "Acknowledgement(bytes16 jobId,uint8 attempt)"],
    [
      "Completion",
      "Completion(bytes16 jobId,bytes32 proofHash,uint32 promptTokens,uint32 completionTokens,uint32 reasoningTokens,uint32 textBytes,uint40 completedAt)",
    ],
    [
      "Authorization",
      "Authorization(bytes16 jobId,address wallet,uint8 operator,uint16 model,uint32 maxTokens,uint32 maxCredits,bytes32 requestHash,uint40 expiresAt)",
    ],
    [
      "DisputeRequest",
      "DisputeRequest(bytes16 jobId,bytes32 receivedHash,bytes32 workerHash,uint32 maxBond,uint32 keySequence,uint40 expiresAt)",
    ],
    ["SignerConsent", "SignerConsent(uint8 operator,address admin)"],
  ] as const)("%s has the type hash of JobMessages.sol", (name, encoded) => {
    const types = { ...jobMessageTypes, ...authorizationTypes, ...disputeRequestTypes, ...signerConsentTypes };
    const fields = types[name].map((field) => `${field.type} ${field.name}`).join(",");
    expect(keccak256(toHex(`${name}(${fields})`))).toBe(keccak256(toHex(encoded)));
  });

  it("signatures are packed as EIP-2098 says, for both parities", async () => {
    const seen = new Set<string>();
    for (let attempt = 1; seen.size < 2; attempt++) {
      const message = { jobId: assignment.jobId, attempt };
      const types = { Acknowledgement: jobMessageTypes.Acknowledgement };
      const signature = await account.signTypedData({ domain, types, primaryType: "Acknowledgement", message });
      const { r, vs } = compactSignature(signature);
      const v = signature.slice(-2);
      expect(r).toBe(signature.slice(0, 66));
      expect(BigInt(vs) & ((1n << 255n) - 1n)).toBe(BigInt(`0x${signature.slice(66, 130)}`));
      expect(BigInt(vs) >> 255n).toBe(v === "1c" ? 1n : 0n);
      expect(vs).toHaveLength(66);
      seen.add(v);
    }
  });
});

describe("a dispatch body", () => {
  it("is taken as it is described", () => {
    expect(dispatchSchema.parse(body)).toEqual(body);
  });

  it("asks for an output only with a signature made for that", () => {
    const request = { assignment, signature: body.signature };
    const access = { expiresAt: 1_700_000_000, signature: body.signature };
    expect(outputRequestSchema.parse({ ...request, access })).toEqual({ ...request, access });
    expect(outputRequestSchema.safeParse(request).success).toBe(false);
  });

  it.each([
    ["no messages", { request: { ...body.request, messages: [] } }],
    ["max_tokens of zero", { request: { ...body.request, max_tokens: 0 } }],
    ["an unknown role", { request: { ...body.request, messages: [{ role: "tool", content: "" }] } }],
    ["a short job id", { assignment: { ...assignment, jobId: "0x0a" } }],
    ["attempt 0", { assignment: { ...assignment, attempt: 0 } }],
    ["attempt 256", { assignment: { ...assignment, attempt: 256 } }],
    ["a 64-byte signature", { signature: `0x${"1b".repeat(64)}` }],
    ["no model", { model: "" }],
  ])("with %s is none", (_, change) => {
    expect(dispatchSchema.safeParse({ ...body, ...change }).success).toBe(false);
  });
});
