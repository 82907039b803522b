import fc from "fast-check";
import { countTokens as referenceCount } from "gpt-tokenizer/encoding/o200k_base";
import { afterAll, describe, expect, it } from "vitest";
import { countTokens } from "../../../api/jobs/tokenizer.ts";
import { estimateTokens, type Prompt, TokenCounter, TokenizerBusy, tokenBudget } from "../../../api/jobs/tokens.ts";

const counter = new TokenCounter();
afterAll(() => counter.stop());

const say = (...texts: string[]) => texts.map((content) => ({ role: "user" as const, content }));
const budget = (prompt: Omit<Prompt, "wallet">) => tokenBudget(counter, { wallet: "0x01", ...prompt });
const reference = (text: string) => referenceCount(text, { disallowedSpecial: new Set() });

describe("a text's tokens", () => {
  it.each([
    ["prose", "The quick brown fox doesn't jump over 12 lazy dogs, says Zoë.\n\n".repeat(50)],
    ["other scripts", "日本語のテキスト、ภาษาไทยไม่มีช่องว่าง، العربية. ".repeat(30)],
    ["emoji and halves of them", "💥👩‍👩‍👧\ud800 x \udfff"],
    ["control tokens", "What is <|endoftext|><|im_start|>?"],
    ["a run of one letter", "a".repeat(2_000)],
    ["a run of spaces", `${" ".repeat(2_000)}x`],
    ["one long word", "acgtgtcaagct".repeat(150)],
    ["nothing", ""],
  ])("are those of the reference: %s", (_name, text) => {
    expect(countTokens(text)).toBe(reference(text));
  });

  it("are those of the reference, whatever the text is", () => {
    const units = ["grapheme", "binary", "grapheme-ascii"] as const;
    for (const unit of units) {
      fc.assert(
        fc.property(fc.string({ unit, maxLength: 400 }), (text) => {
          expect(countTokens(text)).toBe(reference(text));
        }),
      );
    }
  });
});

describe("the token budget of a request", () => {
  const long = "word ".repeat(2_000).trim();
  /** What the window leaves beside the long text and its template. */
  const left = 32_768 - 2_000 - 7;
  it.each([
    ["is 2,000 output tokens when the client names none", "Hello", undefined, 2_000],
    ["is what the client asks for, while the window has room", "Hello", 30_000, 30_000],
    ["is what the window leaves beside the text and its template, at most", long, 32_000, left],
    ["is all that the window leaves, to the token", long, left, left],
  ])("%s", async (_what, text, requested, maxTokens) => {
    expect(reference(long)).toBe(2_000);
    expect(await budget({ messages: say(text), requested, contextWindow: 32_768 })).toEqual({ fits: true, maxTokens });
  });

  // Long words, so that a count of pieces would be too high.
  const sentence = "Responsibilities notwithstanding, internationalization characteristics misunderstood. ";
  it.each([32_768, 128_000])("ends exactly at a window of %d tokens", async (contextWindow) => {
    const start = sentence.repeat(Math.floor((contextWindow - 100) / reference(sentence))).trimEnd();
    const fill = (tokens: number) => start + " word".repeat(tokens - reference(start));
    const text = fill(contextWindow);
    expect(reference(text)).toBe(contextWindow);
    const full = await budget({ messages: say(text), requested: 1, contextWindow });
    expect(full).toEqual({ fits: false, size: `${contextWindow} tokens or more` });
    const shorter = fill(contextWindow - 1);
    expect(reference(shorter)).toBe(contextWindow - 1);
    expect(await budget({ messages: say(shorter), requested: 500, contextWindow })).toEqual({
      fits: true,
      maxTokens: 1,
    });
  });

  it("adds up what several messages have", async () => {
    const texts = Array.from({ length: 19 }, () => "word ".repeat(1_800).trim());
    expect((await budget({ messages: say(...texts), requested: 1, contextWindow: 32_768 })).fits).toBe(false);
    expect(await budget({ messages: say(...texts.slice(1)), requested: 1_000, contextWindow: 32_768 })).toEqual({
      fits: true,
      maxTokens: 32_768 - 18 * 1_804 - 3,
    });
  });

  it("does not exist for text far beyond any window, which is not counted", async () => {
    const unused = { count: () => expect.unreachable() } as unknown as TokenCounter;
    const messages = say("x".repeat(4_000_000));
    const prompt = { wallet: "0x01", messages, requested: undefined, contextWindow: 32_768 };
    expect((await tokenBudget(unused, prompt)).fits).toBe(false);
  });
});

describe("counting prompts", () => {
  const letters = (length: number) =>
    Array.from({ length }, (_, i) => String.fromCharCode(97 + ((i * i + (i >> 3)) % 26))).join("");
  /** What takes longest: long words, and just not too many tokens. */
  const worst = Array.from({ length: 19 }, () => letters(107_000));

  it("leaves the event loop free: its own thread does the work", async () => {
    // Not of the work: the thread's start.
    await counter.count("0x01", { texts: ["Hello"], limit: 10 });
    const [whole, own] = [process.cpuUsage(), process.threadCpuUsage()];
    await counter.count("0x01", { texts: worst, limit: 2_000_000 });
    const { user } = process.cpuUsage(whole);
    expect(user).toBeGreaterThan(100_000);
    expect(process.threadCpuUsage(own).user).toBeLessThan(user / 5);
  });

  it("stops at the limit", async () => {
    const tokens = await counter.count("0x01", { texts: worst, limit: 1_000 });
    expect(tokens).toBeGreaterThan(1_000);
    // A word is merged in parts of 16 KiB: with one more than the limit at most.
    expect(tokens).toBeLessThan(1_000 + 16_384);
  });

  it("lets wallets take turns", async () => {
    const order: string[] = [];
    const ask = (wallet: string) =>
      counter.count(wallet, { texts: ["Hello"], limit: 10 }).then(() => void order.push(wallet));
    await Promise.all([...Array.from({ length: 20 }, () => ask("greedy")), ask("modest")]);
    expect(order.indexOf("modest")).toBeLessThan(3);
  });

  it("is refused when too many wait, and goes on afterwards", async () => {
    const ask = (wallet: string) => counter.count(wallet, { texts: ["Hello"], limit: 10 });
    const asked = Array.from({ length: 2_000 }, (_, i) => ask(`0x${i % 100}`));
    const results = await Promise.allSettled(asked);
    const refused = results.filter(({ status }) => status === "rejected") as PromiseRejectedResult[];
    expect(refused.length).toBeGreaterThan(900);
    expect(refused[0]?.reason).toBeInstanceOf(TokenizerBusy);
    expect(await counter.count("0x01", { texts: ["Hello"], limit: 10 })).toBe(1);
  });

  it("has room for others, however many one wallet sends", async () => {
    const ask = (wallet: string) => counter.count(wallet, { texts: ["Hello"], limit: 10 });
    const greedy = Array.from({ length: 2_000 }, () => ask("greedy"));
    const modest = ask("modest");
    const results = await Promise.allSettled(greedy);
    expect(results.filter(({ status }) => status === "fulfilled").length).toBeLessThan(100);
    expect(await modest).toBe(1);
  });

  it("of an answer takes samples of a long one", () => {
    const text = "The answer goes on and on. ".repeat(8_000);
    const exact = countTokens(text);
    expect(estimateTokens(text)).toBeGreaterThan(exact * 0.8);
    expect(estimateTokens(text)).toBeLessThan(exact * 1.3);
  });
});
