/** Bodies that are small in bytes and large in parts. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parseChatBody } from "../../api/routes/chat-request.ts";
import { firstBad, whyUnreasonable } from "../../shared/json-shape.ts";

describe("whyUnreasonable", () => {
  it("has nothing against values and conversations, however long", () => {
    for (const body of [undefined, null, 1, "text", [], {}]) expect(whyUnreasonable(body)).toBeNull();
    // 131,072 tokens of context in messages of four tokens: the most that any model could take.
    const messages = Array.from({ length: 32_768 }, () => ({ role: "user", content: "a" }));
    expect(whyUnreasonable({ model: "qwen3-8b", messages })).toBeNull();
    expect(whyUnreasonable({ request: { messages } })).toBeNull();
  });

  it("refuses millions of messages", () => {
    expect(whyUnreasonable({ messages: Array<number>(2_000_000).fill(0) })).toMatch(/more than 200,000 values/);
    const messages = Array.from({ length: 150_000 }, () => ({ a: 1 }));
    expect(whyUnreasonable({ messages })).toMatch(/more than 200,000 values/);
  });

  it("refuses long lists of anything else, wherever they are", () => {
    const long = Array<number>(1_001).fill(0);
    for (const body of [long, { stop: long }, { messages: [{ role: "user", content: long }] }, { messages: [long] }]) {
      expect(whyUnreasonable(body)).toMatch(/a list of more than 1,000 entries/);
    }
    expect(whyUnreasonable({ stop: long.slice(1) })).toBeNull();
  });

  it("refuses what is nested deeper than anything sensible, without recursion of its own", () => {
    const nested = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    expect(whyUnreasonable({ logit_bias: nested(60) })).toBeNull();
    expect(whyUnreasonable({ logit_bias: nested(100_000) })).toMatch(/more than 64 deep/);
  });
});

describe("a list is looked at up to its first bad entry", () => {
  it("by its schema", () => {
    const list = [1, 2, "three", 4];
    let looks = 0;
    const number = z.number();
    const counted = {
      safeParse: (value: unknown) => {
        looks += 1;
        return number.safeParse(value);
      },
    };
    expect(firstBad(counted, list)).toBe(2);
    expect(looks).toBe(3);
    expect(firstBad(number, [1, 2])).toBe(-1);
  });

  it("so a chat request names the first bad message, whatever follows it", () => {
    const good = { role: "user", content: "Hello" };
    const body = { model: "qwen3-8b", messages: [good, { ...good, role: "robot" }, ...Array<number>(1_000).fill(0)] };
    expect(() => parseChatBody(body)).toThrow("messages[1].role");
    expect(parseChatBody({ ...body, messages: [good, good] }).request.messages).toEqual([good, good]);
  });
});
