/** The decoders of packed words against the layout in contracts/Words.sol. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  decodeAccountWord,
  decodeJobWord,
  decodeLockTerms,
  decodePayee,
  decodeUsageWord,
  signedCompletion,
} from "../../protocol/words.ts";

const source = readFileSync(new URL("../../contracts/Words.sol", import.meta.url), "utf8");

/** Shifts of a library's fields, by their names in camel case: `CREDITS_PER_1K_TOKENS` is `creditsPer1kTokens`. */
function shiftsOf(library: string): Record<string, number> {
  const [, body = ""] = source.split(`library ${library} {`);
  const constants = body.split("\n}")[0]?.matchAll(/uint256 private constant (\w+) = (\d+);/g) ?? [];
  return Object.fromEntries(
    [...constants].map(([, name = "", shift]) => [
      name.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      Number(shift),
    ]),
  );
}

/** Lowest bit of each field that a decoder reads. */
function bitsOf(decode: (word: bigint) => object): Record<string, number> {
  const found: [string, number][] = [];
  for (let bit = 0; bit < 256; bit += 1) {
    for (const [field, value] of Object.entries(decode(1n << BigInt(bit)))) if (value === 1) found.push([field, bit]);
  }
  return Object.fromEntries(found);
}

describe("packed words", () => {
  it.each([
    ["AccountSlots", decodeAccountWord, "id"],
    ["JobSlots", decodeJobWord, "account"],
  ] as const)("%s: each field is where the contract has it", (library, decode, first) => {
    expect(bitsOf(decode)).toEqual({ [first]: 0, ...shiftsOf(library) });
    // Next to each other: one that is full leaves the others alone.
    for (const [field, bit] of Object.entries(bitsOf(decode))) {
      const next = Math.min(...Object.values(bitsOf(decode)).filter((other) => other > bit), 256);
      const width = BigInt((library === "AccountSlots" && field === "operator" ? 248 : next) - bit);
      const full = ((1n << width) - 1n) << BigInt(bit);
      const others = Object.fromEntries(Object.keys(bitsOf(decode)).map((name) => [name, 0]));
      expect(decode(full)).toEqual({ ...others, [field]: Number((1n << width) - 1n) });
    }
  });

  it("a settlement's usage", () => {
    const word =
      7n | (3_000n << 32n) | (4_000n << 64n) | (12_000n << 96n) | (6_900n << 128n) | ((2n ** 40n - 1n) << 160n);
    const signed = { promptTokens: 7, completionTokens: 3_000, reasoningTokens: 4_000, textBytes: 12_000 };
    const completedAt = 2 ** 40 - 1;
    expect(decodeUsageWord(word)).toEqual({ ...signed, billedTokens: 6_900, completedAt });
    const name = { jobId: `0x${"0a".repeat(16)}`, proofHash: `0x${"0b".repeat(32)}` } as const;
    expect(signedCompletion({ ...name, usage: word })).toEqual({ ...name, ...signed, completedAt });
  });

  it("a payee and a model's terms, or none", () => {
    expect(decodePayee((9n << 160n) | 0xaan)).toEqual({ id: 9, payout: "0x00000000000000000000000000000000000000AA" });
    expect(decodePayee(0n)).toBeNull();
    expect(decodeLockTerms(8n | (4n << 16n) | (3n << 32n))).toEqual({
      creditsPerRequest: 8,
      creditsPer1kTokens: 4,
      tier: 3,
    });
    expect(decodeLockTerms(0n)).toBeNull();
  });
});
