import fc from "fast-check";
import { type Address, type Hex, hashTypedData, toHex } from "viem";
import { describe, expect, it } from "vitest";
import * as pure from "../../protocol/digests.ts";
import { authorizationTypes, escrowDomain, jobMessageTypes } from "../../protocol/messages.ts";
import * as native from "../../shared/keccak.ts";

const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((value) => toHex(value));
const uint = (bits: number) =>
  fc.oneof(fc.constant(0), fc.constant(2 ** bits - 1), fc.integer({ min: 0, max: 2 ** Math.min(bits, 31) - 1 }));
const chains = fc.tuple(fc.integer({ min: 1, max: 2 ** 31 }), hex(20) as fc.Arbitrary<Address>);

const messages = {
  Assignment: fc.record({ jobId: hex(16), worker: hex(20), attempt: uint(8), acknowledgeBy: uint(40) }),
  Acknowledgement: fc.record({ jobId: hex(16), attempt: uint(8) }),
  Completion: fc.record({
    jobId: hex(16),
    proofHash: hex(32),
    promptTokens: uint(32),
    completionTokens: uint(32),
    reasoningTokens: uint(32),
    textBytes: uint(32),
    completedAt: uint(40),
  }),
  Authorization: fc.record({
    jobId: hex(16),
    wallet: hex(20),
    operator: uint(8),
    model: uint(16),
    maxTokens: uint(32),
    maxCredits: uint(32),
    requestHash: hex(32),
    expiresAt: uint(40),
  }),
} as const;
const types = { ...jobMessageTypes, ...authorizationTypes };

describe.each([
  ["in JavaScript", pure],
  ["by WebAssembly", native],
])("digests of job messages, %s", (_, { jobDigests }) => {
  it.each(["Assignment", "Acknowledgement", "Completion", "Authorization"] as const)(
    "%s: are those of EIP-712",
    (primaryType) => {
      const name = primaryType.toLowerCase() as Lowercase<typeof primaryType>;
      fc.assert(
        fc.property(chains, messages[primaryType] as fc.Arbitrary<object>, ([chainId, escrow], message) => {
          const domain = escrowDomain(chainId, escrow);
          const expected = hashTypedData({ domain, types, primaryType, message } as Parameters<
            typeof hashTypedData
          >[0]);
          expect(jobDigests(chainId, escrow)[name](message as never)).toBe(expected);
        }),
        { numRuns: 300 },
      );
    },
  );

  const completion = {
    jobId: `0x${"0a".repeat(16)}` as Hex,
    proofHash: `0x${"0b".repeat(32)}` as Hex,
    promptTokens: 1,
    completionTokens: 2,
    reasoningTokens: 3,
    textBytes: 4,
    completedAt: 1_800_000_000,
  };
  it.each([
    ["a short id", { jobId: "0x0a" }],
    ["an id that is no hex", { jobId: `0x${"zz".repeat(16)}` }],
    ["a hash that is too long", { proofHash: `0x${"0b".repeat(33)}` }],
    ["a fraction", { promptTokens: 1.5 }],
    ["less than nothing", { completionTokens: -1 }],
    ["more than its type holds", { completionTokens: 2 ** 32 }],
    ["no count of reasoning", { reasoningTokens: undefined }],
    ["a length beyond its type", { textBytes: 2 ** 32 }],
    ["a time beyond its type", { completedAt: 2 ** 40 }],
    ["nothing at all", { completedAt: undefined }],
  ])("refuse %s", (_what, change) => {
    const { completion: digest } = jobDigests(31_337, `0x${"01".repeat(20)}`);
    expect(() => digest({ ...completion, ...change } as never)).toThrow(TypeError);
  });
});
