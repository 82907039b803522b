/** Bodies that are small in bytes and large in parts. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parseChatBody } from "../../../api/routes/chat-request.ts";
import { DISPATCH_VALUES, firstBad, jsonShapeFault, MAX_MESSAGES } from "../../../shared/json-shape.ts";

describe("jsonShapeFault", () => {
  const judge = (body: unknown) => jsonShapeFault(Buffer.from(JSON.stringify(body)));

  it("has nothing against values and conversations, however long", () => {
    for (const body of [null, 1, "text", [], {}]) expect(judge(body)).toBeNull();
    expect(jsonShapeFault(Buffer.alloc(0))).toBeNull();
    const parts = [{ type: "text", text: "a" }];
    const messages = Array.from({ length: MAX_MESSAGES }, () => ({ role: "user", content: parts }));
    expect(judge({ model: "qwen3-8b", messages })).toBeNull();
    expect(jsonShapeFault(Buffer.from(JSON.stringify({ request: { messages } }, null, 4)))).toBeNull();
  });

  it("lets a worker take whatever a client's body may hold, in its dispatch", () => {
    const messages = Array.from({ length: MAX_MESSAGES }, () => ({ role: "user", content: "" }));
    expect(judge({ model: "qwen3-8b", messages })).toBeNull();
    const assignment = { jobId: "0x", worker: "0x", attempt: 1, acknowledgeBy: 1 };
    const dispatch = { assignment, signature: "0x", model: "qwen3-8b", request: { messages, max_tokens: 1 } };
    expect(jsonShapeFault(Buffer.from(JSON.stringify(dispatch)), DISPATCH_VALUES)).toBeNull();
  });

  it("takes no bracket, comma or quote inside a text for one of JSON's", () => {
    const texts = ["[[{{", ",".repeat(300_000), '"[", \\"', "\\", '\\"'.repeat(10_000), "[".repeat(1_000)];
    for (const text of texts) expect(judge({ messages: [{ role: "user", content: text }], [text]: [text] })).toBeNull();
  });

  it("finds the end of a long text, wherever its quotes and backslashes are", () => {
    const long = Array<number>(1_001).fill(0);
    for (let length = 0; length < 200; length++) {
      for (const end of ["", '"', "\\", '\\"', '"[[{{'.repeat(50)]) {
        const text = "a".repeat(length) + end;
        expect(judge({ text, more: "b" }), text).toBeNull();
        expect(judge({ text, stop: long }), text).toMatch(/more than 1,000 entries/);
      }
    }
  });

  it("leaves what is no JSON to the parser", () => {
    for (const text of ["]]]}", '{"a', '"\\', "nonsense"]) expect(jsonShapeFault(Buffer.from(text))).toBeNull();
  });

  it("refuses millions of messages", () => {
    expect(judge({ messages: Array<number>(2_000_000).fill(0) })).toMatch(/more than 4,096 messages/);
    expect(judge({ messages: Array<number>(MAX_MESSAGES + 1).fill(0) })).toMatch(/more than 4,096 messages/);
    const messages = Array.from({ length: MAX_MESSAGES }, () => Array<number>(20).fill(0));
    expect(judge({ messages })).toMatch(/more than 40,000 values/);
  });

  it("refuses megabytes of white space and numbers", () => {
    expect(jsonShapeFault(Buffer.from(`{"a":1${"\n".repeat(4_000_000)}}`))).toMatch(/outside of its texts/);
    expect(jsonShapeFault(Buffer.from(`{"a":${"1".repeat(4_000_000)}}`))).toMatch(/outside of its texts/);
  });

  it("refuses other long lists, and objects of many fields, anywhere", () => {
    const long = Array<number>(1_001).fill(0);
    const fields = Object.fromEntries(long.map((_, i) => [`k${i}`, 0]));
    for (const part of [long, fields]) {
      for (const body of [
        part,
        { stop: part },
        { messages: [{ role: "user", content: part }] },
        { messages: [part] },
      ]) {
        expect(judge(body)).toMatch(/more than 1,000 entries/);
      }
    }
    expect(judge({ stop: long.slice(1) })).toBeNull();
  });

  it("refuses what is nested deeper than anything sensible", () => {
    const nested = (depth: number) => Buffer.from(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
    expect(jsonShapeFault(nested(60))).toBeNull();
    expect(jsonShapeFault(nested(2_000_000))).toMatch(/more than 64 deep/);
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
