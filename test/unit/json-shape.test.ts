/** Bodies that are small in bytes and large in parts. */
import { describe, expect, it } from "vitest";
import { whyUnreasonable } from "../../protocol/json-shape.ts";

describe("whyUnreasonable", () => {
  it("has nothing against values and conversations, however long", () => {
    for (const body of [undefined, null, 1, "text", [], {}]) expect(whyUnreasonable(body)).toBeNull();
    // 131,072 tokens of context in messages of four tokens: the most that any model could take.
    const messages = Array.from({ length: 32_768 }, () => ({ role: "user", content: "a" }));
    expect(whyUnreasonable({ model: "qwen3-8b", messages })).toBeNull();
  });

  it("refuses millions of parts, wherever they are", () => {
    const many = Array<number>(2_000_000).fill(0);
    expect(whyUnreasonable(many)).toMatch(/more than 200,000 values/);
    expect(whyUnreasonable({ messages: [{ role: "user", content: many }] })).toMatch(/more than 200,000 values/);
    expect(whyUnreasonable({ messages: Array.from({ length: 150_000 }, () => ({ a: 1 })) })).toMatch(
      /more than 200,000/,
    );
  });

  it("refuses what is nested deeper than anything sensible, without recursion of its own", () => {
    const nested = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    expect(whyUnreasonable({ logit_bias: nested(60) })).toBeNull();
    expect(whyUnreasonable({ logit_bias: nested(1_000_000) })).toMatch(/more than 64 deep/);
  });
});
