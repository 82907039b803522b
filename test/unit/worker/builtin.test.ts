import { describe, expect, it } from "vitest";
import type { ChatRequest } from "../../../protocol/dispatch.ts";
import { BuiltinTextGenerator, DEMO_SENTENCE, tokenize } from "../../../worker/backends/builtin.ts";

async function generate(
  prompt: string,
  request: Partial<ChatRequest> = {},
  options = { tokensPerSecond: 0, firstTokenMs: 0 },
) {
  const chat: ChatRequest = { messages: [{ role: "user", content: prompt }], max_tokens: 10_000, ...request };
  const pieces: string[] = [];
  let reasoning = "";
  for await (const piece of new BuiltinTextGenerator(options).generate("m", chat, new AbortController().signal)) {
    if (piece.kind === "end") return { text: pieces.join(""), pieces, reasoning, ...piece };
    if (piece.kind === "text") pieces.push(piece.text);
    else reasoning += piece.text;
  }
  throw new Error("no end");
}

describe("built-in text generator", () => {
  it("says first that it is no model, and how to connect one", async () => {
    const { text } = await generate("Say hello.");
    expect(text.startsWith(`${DEMO_SENTENCE}\n\n`)).toBe(true);
    expect(text.length).toBeGreaterThan(DEMO_SENTENCE.length + 100);
    expect(DEMO_SENTENCE).toMatch(/no model.*npm start.*npm run worker -- --backend URL/);
  });

  it("gives the same text for the same request and seed, and another for another", async () => {
    const one = await generate("Tell me about glaciers", { seed: 1 });
    expect((await generate("Tell me about glaciers", { seed: 1 })).text).toBe(one.text);
    expect((await generate("Tell me about glaciers", { seed: 2 })).text).not.toBe(one.text);
    expect(one.text).toMatch(/glaciers/);
    expect(one.finishReason).toBe("stop");
    expect(one.usage?.promptTokens).toBe(7);
  });

  it.each([0, 1, 2, 17, 500, 3_000])("writes exactly %i tokens when the prompt asks for them", async (n) => {
    const { text, usage, finishReason } = await generate(`Rivers [[tokens:${n}]]`);
    expect(usage?.completionTokens).toBe(n);
    expect(tokenize(text)).toHaveLength(n);
    expect(text).not.toMatch(/\n$/);
    expect(finishReason).toBe("stop");
  });

  it("counts what it writes as its tokenizer does, and writes beyond ASCII", async () => {
    let all = "";
    for (let seed = 0; seed < 50; seed++) {
      const { text, usage } = await generate("Mountains and valleys", { seed });
      expect(tokenize(text)).toHaveLength(usage?.completionTokens as number);
      all += text;
    }
    expect(all).toMatch(/🌱|✨/);
    expect(all).toMatch(/東京/);
    expect(all).toMatch(/\n\n/);
  });

  it("honours max_tokens and stop", async () => {
    const whole = await generate("Oceans [[tokens:100]]");
    const cut = await generate("Oceans [[tokens:100]]", { max_tokens: 40 });
    expect(cut).toMatchObject({ finishReason: "length", usage: { completionTokens: 40 } });
    expect(whole.text.startsWith(cut.text)).toBe(true);
    const word = whole.text.split(" ")[5] as string;
    const stopped = await generate("Oceans [[tokens:100]]", { stop: ["never there", word] });
    expect(stopped.text).toBe(whole.text.slice(0, whole.text.indexOf(word)));
    expect(stopped.finishReason).toBe("stop");
    expect(stopped.usage?.completionTokens).toBeLessThan(20);
  });

  it("keeps the speed it is told to", async () => {
    const started = performance.now();
    const { pieces } = await generate("[[tokens:20]]", {}, { tokensPerSecond: 50, firstTokenMs: 100 });
    expect(pieces).toHaveLength(20);
    expect(performance.now() - started).toBeGreaterThan(450);
  });

  it("stops when told to", async () => {
    const abort = new AbortController();
    const chat: ChatRequest = { messages: [{ role: "user", content: "[[tokens:1000]]" }], max_tokens: 1_000 };
    const run = async () => {
      for await (const _ of new BuiltinTextGenerator({ tokensPerSecond: 10, firstTokenMs: 0 }).generate(
        "m",
        chat,
        abort.signal,
      ))
        abort.abort();
    };
    await expect(run()).rejects.toThrow();
  });

  it("reasons where that is asked for, and max_tokens limits both", async () => {
    expect((await generate("Rivers")).reasoning).toBe("");
    expect((await generate("Rivers", { reasoning_effort: "none" })).reasoning).toBe("");
    const prompt = "Rivers [[tokens:30]] [[reasoning:20]]";
    const whole = await generate(prompt, { reasoning_effort: "high" });
    expect([tokenize(whole.reasoning).length, tokenize(whole.text).length]).toEqual([20, 30]);
    expect(whole.usage).toMatchObject({ completionTokens: 50, reasoningTokens: 20 });
    const cut = await generate(prompt, { reasoning_effort: "high", max_tokens: 25 });
    expect([cut.finishReason, tokenize(cut.text).length]).toEqual(["length", 5]);
    const nothing = await generate(prompt, { reasoning_effort: "high", max_tokens: 10 });
    expect([nothing.finishReason, tokenize(nothing.reasoning).length, nothing.text]).toEqual(["length", 10, ""]);
  });

  it("writes JSON, after a schema where there is one", async () => {
    expect(JSON.parse((await generate("Lakes", { response_format: { type: "json_object" } })).text)).toBeTypeOf(
      "object",
    );
    const schema = {
      type: "object",
      properties: {
        name: { $ref: "#/$defs/name" },
        depth: { type: "integer", minimum: 3 },
        kinds: { type: "array", items: { enum: ["salt", "sweet"] } },
        dry: { anyOf: [{ type: "boolean" }, { type: "null" }] },
      },
      $defs: { name: { type: "string" } },
    };
    const follow = (of: object) =>
      generate("Lakes", { response_format: { type: "json_schema", json_schema: { name: "lake", schema: of } } });
    const { name, ...rest } = JSON.parse((await follow(schema)).text);
    expect(name).toBeTypeOf("string");
    expect(rest).toEqual({ depth: 3, kinds: ["salt"], dry: true });
    await expect(follow({ $ref: "#" })).rejects.toThrow("too large");
    // Eight properties of eight properties, seven times: 1.8 kB that stand for two million values.
    const eight = (part: object) => Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`p${i}`, part]));
    const levels = Array.from({ length: 7 }, (_, i) => [`l${i}`, { properties: eight({ $ref: `#/$defs/l${i + 1}` }) }]);
    const wide = { $ref: "#/$defs/l0", $defs: { ...Object.fromEntries(levels), l7: { type: "integer" } } };
    await expect(follow(wide)).rejects.toThrow("too large");
  });
});
