/** Whatever a reply is cut into: what is passed on is what was read, and what another reader could take for another text is not. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventStream, Reply, ReplyFormError } from "../../client/reply.ts";
import { answerHash } from "../../protocol/answer-hash.ts";

const chunk = (delta: object, more: object = {}) => ({
  id: "chatcmpl-1",
  model: "m",
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const streamOf = (...texts: string[]) =>
  [
    ...texts.map((content) => event(chunk({ content }))),
    event(chunk({}, { finish_reason: "stop" })),
    "data: [DONE]\n\n",
  ].join("");

const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const service = { completion: { jobId: 1 } };

/** Passes bytes through in pieces of these sizes. */
function pass(events: EventStream, bytes: Uint8Array, sizes: readonly number[] = []): string {
  const decoder = new TextDecoder();
  let text = "";
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const end = Math.min(bytes.length, at + (sizes[i] ?? bytes.length));
    text += decoder.decode(events.take(bytes.subarray(at, end)) ?? new Uint8Array(), { stream: true });
    at = end;
  }
  return text;
}
/** As it is passed on: no character is left that some readers take for the end of a line. */
const escaped = (text: string) =>
  text.replace(/[\u007f-\u009f\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
/** A reply whose connection broke after this text. */
const broken = (text: string) => Object.assign(new Reply(), { text });
const bytes = (text: string) => new TextEncoder().encode(text);

describe("a stream", () => {
  it("is passed on as it was read, however it is cut, and its text is hashed", () => {
    const texts = fc.array(fc.string({ unit: "grapheme" }), { maxLength: 6 });
    const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 60 });
    fc.assert(
      fc.property(texts, cuts, (texts, sizes) => {
        const events = new EventStream(new Reply());
        const text = `: keep-alive\n\n${streamOf(...texts)}`;
        expect(pass(events, bytes(text), sizes)).toBe(`:\n\n${escaped(streamOf(...texts))}`);
        expect(events.reply).toMatchObject({ text: texts.join(""), complete: true, hash: answerHash(texts.join("")) });
      }),
    );
  });

  it("goes on where it broke: the program gets each character once", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), fc.string({ maxLength: 40 }), fc.nat(80), (a, b, at) => {
        const whole = a + b;
        const had = whole.slice(0, at);
        const events = new EventStream(broken(had));
        const passed = pass(events, bytes(streamOf(a, b)));
        const again = new EventStream(new Reply());
        pass(again, bytes(passed));
        expect(had + again.reply.text).toBe(whole);
        expect(events.reply.text).toBe(whole);
      }),
    );
  });

  it("leaves one reading only: the last of two names, and nothing of a comment", () => {
    const twice =
      'data: {"choices":[{"index":0,"delta":{"content":"evil"}}],"choices":[{"index":0,"delta":{"content":"good"}}]}\n\n';
    expect(pass(new EventStream(new Reply()), bytes(twice))).toBe(
      event({ choices: [{ index: 0, delta: { content: "good" } }] }),
    );
    const hidden = `: x\u2028${event(chunk({ content: "evil" })).trimEnd()}\n\n`;
    expect(pass(new EventStream(new Reply()), bytes(hidden))).toBe(":\n\n");
  });

  it("may say again, on another connection, what it has said, and nothing else", () => {
    const said = event({ choices: [], service, usage });
    const reply = new Reply();
    pass(new EventStream(reply), bytes(said));
    pass(new EventStream(reply), bytes(said));
    const other = event({ choices: [], usage: { ...usage, completion_tokens: 3 } });
    expect(() => pass(new EventStream(reply), bytes(other))).toThrow(ReplyFormError);
  });

  it.each<[string, string]>([
    ["choices in other letters", event({ ...chunk({ content: "x" }), Choices: [] })],
    ["a field of its own", event({ ...chunk({ content: "x" }), output_text: "y" })],
    [
      "two choices",
      event({
        choices: [
          { index: 0, delta: {} },
          { index: 1, delta: { content: "x" } },
        ],
      }),
    ],
    ["a tool call", event(chunk({ tool_calls: [] }))],
    ["a refusal", event(chunk({ refusal: "no" }))],
    ["a choice of another number", event(chunk({ content: "x" }, { index: 1 }))],
    ["another role", event(chunk({ role: "tool", content: "x" }))],
    ["a character in two halves", event(chunk({ content: "\ud83d" })) + event(chunk({ content: "\ude00" }))],
    ["half a character in its reasoning", event(chunk({ reasoning_content: "\ud83d" }))],
    ["two counts of tokens", event({ choices: [], usage }) + event({ choices: [], usage })],
    ["a count of something else", event({ choices: [], usage: { ...usage, cost: 1 } })],
    ["a count that is no count", event({ choices: [], usage: "9" })],
    ["two statements", event({ choices: [], service }) + event({ choices: [], service: { completion: { jobId: 2 } } })],
    ["something beside its statement", event({ choices: [], service: { ...service, credits_charged: 1 } })],
    ["something in its statement", event({ choices: [], service: { completion: { jobId: 1, credits: 1 } } })],
    ["a message in a chunk", event(chunk({}, { message: { content: "x" } }))],
    ["content that is no text", event(chunk({ content: ["x"] }))],
    ["text after its end", event(chunk({}, { finish_reason: "stop" })) + event(chunk({ content: "x" }))],
    ["something after [DONE]", streamOf("a") + event(chunk({ content: "x" }))],
    ["[DONE] without an end", "data: [DONE]\n\n"],
    ["carriage returns", streamOf("a").replaceAll("\n", "\r\n")],
    ["a named event", `event: message\n${event(chunk({ content: "x" }))}`],
    ["data without a space", event(chunk({ content: "x" })).replace("data: ", "data:")],
    ["two lines of data", 'data: {"choices":\ndata: []}\n\n'],
    ["a comment with data behind it", `: x\n${event(chunk({ content: "x" }))}`],
    ["an error with text beside it", event({ ...chunk({ content: "x" }), error: { message: "y" } })],
    ["text after an error", event({ error: { message: "y" } }) + event(chunk({ content: "x" }))],
    ["no JSON", "data: {\n\n"],
    ["a list", "data: []\n\n"],
    ["a byte order mark", `\ufeff${streamOf("a")}`],
  ])("with %s is not passed on", (_what, text) => {
    expect(() => pass(new EventStream(new Reply()), bytes(text))).toThrow(ReplyFormError);
  });

  it("that is no UTF-8 is not passed on", () => {
    expect(() => pass(new EventStream(new Reply()), new Uint8Array([0x64, 0xff]))).toThrow(ReplyFormError);
  });

  it.each(["Help", "Hell", ""])("that gives another answer when it is repeated is not passed on: %j", (text) => {
    expect(() => pass(new EventStream(broken("Hello")), bytes(streamOf(text)))).toThrow(ReplyFormError);
  });
});

describe("a plain reply", () => {
  const plain = (message: object, more: object = {}) =>
    JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop", ...more }] });

  it("is read to its text", () => {
    const reply = new Reply();
    const shown = reply.readPlain(plain({ role: "assistant", content: "Hello 東京" }));
    expect(shown).toBe(plain({ role: "assistant", content: "Hello 東京" }));
    expect(reply).toMatchObject({ complete: true, text: "Hello 東京", hash: answerHash("Hello 東京") });
  });

  it.each([
    ["no choice", '{"choices":[]}'],
    ["a tool call", plain({ content: "x", tool_calls: [] })],
    ["another role", plain({ role: "system", content: "x" })],
    ["a choice of another number", plain({ content: "x" }, { index: 1 })],
    ["a text beside its message", plain({ content: "x" }, { text: "y" })],
    ["choices in other letters", '{"choices":[{"index":0,"message":{"content":"x"}}],"Choices":[]}'],
    ["no JSON", "<html>"],
  ])("with %s is refused", (_what, body) => {
    expect(() => new Reply().readPlain(body)).toThrow(ReplyFormError);
  });
});
