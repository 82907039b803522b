/** What is kept of a chat request while it waits and runs: no text of it is without a bound, or uncounted. */
import { describe, expect, it } from "vitest";
import { parseChatBody, sizeOf } from "../../../../api/routes/chat-request.ts";

const parse = (more: object) =>
  parseChatBody({ model: "qwen3-8b", messages: [{ role: "user", content: "Hello" }], ...more });

describe("stop sequences", () => {
  it("have at most 512 characters each", () => {
    const longest = "a".repeat(512);
    expect(parse({ stop: Array<string>(16).fill(longest) }).request.stop).toHaveLength(16);
    expect(() => parse({ stop: `${longest}a` })).toThrow(/^stop: must be at most 512 characters/);
    expect(() => parse({ stop: ["a", `${longest}a`] })).toThrow(/^stop\[1\]: must be at most 512 characters/);
  });
});

describe("the size of a chat request", () => {
  const plain = sizeOf(parse({}).request);
  const text = "a".repeat(10_000);
  const schema = { type: "json_schema", json_schema: { name: "one", schema: { description: text, [text]: {} } } };

  it.each([
    ["messages", { messages: [{ role: "user", content: text }] }, 10_000],
    ["text parts", { messages: [{ role: "user", content: [{ type: "text", text }] }] }, 10_000],
    ["a text beyond Latin-1", { messages: [{ role: "user", content: "語".repeat(10_000) }] }, 20_000],
    ["stop sequences", { stop: Array<string>(16).fill("a".repeat(500)) }, 8_000],
    ["a JSON schema, with the names of its fields", { response_format: schema }, 20_000],
  ])("counts %s", (_part, more, bytes) => {
    const size = sizeOf(parse(more).request) - plain;
    expect(size).toBeGreaterThan(bytes - 100);
    expect(size).toBeLessThan(bytes + 1_000);
  });
});
