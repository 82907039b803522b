/** A seed on its way from a client's body to a model server's: all 64 bits of it arrive. */
import { describe, expect, it } from "vitest";
import { parseChatBody } from "../../../../api/routes/chat-request.ts";
import { parseChatJson } from "../../../../api/routes/json-body.ts";
import { chatRequestJson, dispatchSchema } from "../../../../protocol/dispatch.ts";

const bodyWith = (seed: string, more = "") =>
  parseChatJson(
    Buffer.from(`{"model":"m",${more}"seed": ${seed},"messages":[{"role":"user","content":"\\"seed\\": 1"}]}`),
  );

/** What a model server is sent: over the gateway's dispatch, which is JSON too. */
function atModelServer(body: unknown): string {
  const { request } = parseChatBody(body);
  const chat = dispatchSchema.shape.request.parse(JSON.parse(JSON.stringify({ ...request, max_tokens: 1 })));
  return chatRequestJson({ ...chat, model: "m" });
}

describe("a seed", () => {
  it.each([
    "0",
    "-1",
    "9007199254740991",
    "9007199254740993",
    "-9007199254740993",
    "1234567890123456789",
    "9223372036854775807",
    "-9223372036854775808",
  ])("of 64 bits arrives with all of its digits: %s", (seed) => {
    const sent = atModelServer(bodyWith(seed));
    expect(/"seed":(-?\d+)[,}]/.exec(sent)?.[1]).toBe(seed);
    expect(JSON.parse(sent)).toMatchObject({ model: "m", messages: [{ content: '"seed": 1' }] });
  });

  it("is the body's own, not one inside another field", () => {
    const sent = atModelServer(bodyWith("9007199254740993", '"metadata":{"seed":9007199254740995},'));
    expect(/"seed":(\d+)/.exec(sent)?.[1]).toBe("9007199254740993");
    expect(atModelServer(bodyWith("7", '"metadata":{"seed":9007199254740995},'))).toContain('"seed":7');
  });

  it("is left out where there is none", () => {
    expect(atModelServer(bodyWith("null"))).not.toContain('"seed":');
  });

  it.each(["9223372036854775808", "-9223372036854775809", "1e30", "1.5", '"1"', "true"])(
    "of another form is refused by its name: %s",
    (seed) => {
      expect(() => parseChatBody(bodyWith(seed))).toThrow(/^seed: must be a whole number from -9223372036854775808/);
    },
  );
});
