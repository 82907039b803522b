import fc from "fast-check";
import { countTokens as referenceCount } from "gpt-tokenizer/encoding/o200k_base";
import { afterAll, describe, expect, it } from "vitest";
import { countTokens, estimateTokens } from "../../../api/jobs/tokenizer.ts";
import { type Prompt, TokenCounter, TokenizerBusy, tokenBudget } from "../../../api/jobs/tokens.ts";

const counter = new TokenCounter();
afterAll(() => counter.stop());

/** A client that stays. */
const STAYS = new AbortController().signal;
const say = (...texts: string[]) => texts.map((content) => ({ role: "user" as const, content }));
const budget = (prompt: Omit<Prompt, "wallet" | "serverWindow"> & { serverWindow?: number }) =>
  tokenBudget(counter, { wallet: "0x01", serverWindow: null, ...prompt }, STAYS);
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
  const left = 32_768 - 2_000 - 8;
  it.each([
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
    // The specification refuses what exceeds the window: what fills it has an answer, in the room that servers have beside it.
    expect(await budget({ messages: say(text), requested: 1, contextWindow })).toEqual({ fits: true, maxTokens: 1 });
    expect(await budget({ messages: say(text), requested: 500, contextWindow })).toEqual({
      fits: true,
      maxTokens: 256,
    });
    const longer = fill(contextWindow + 1);
    expect(reference(longer)).toBe(contextWindow + 1);
    const refused = { fits: false, size: `more than ${contextWindow} tokens` };
    expect(await budget({ messages: say(longer), requested: 1, contextWindow })).toEqual(refused);
  });

  it("does not exist for many short messages that no server holds with its template", async () => {
    const content = "word ".repeat(14).trim();
    const messages = say(...Array.from({ length: 2_000 }, () => content));
    // 28,000 tokens of text, and 10,003 of the template.
    const size = "28000 tokens in 2000 messages, 38003 with what a chat template adds";
    expect(await budget({ messages, requested: 100, contextWindow: 32_768 })).toEqual({ fits: false, size });
    expect(await budget({ messages: messages.slice(500), requested: 100, contextWindow: 32_768 })).toEqual({
      fits: true,
      maxTokens: 100,
    });
  });

  it("does not exist for what the largest of the model's servers cannot hold", async () => {
    const ask = (tokens: number, serverWindow: number) =>
      budget({ messages: say("word ".repeat(tokens).trim()), requested: 100, contextWindow: 32_768, serverWindow });
    expect(await ask(4_000, 4_096)).toEqual({ fits: true, maxTokens: 100 });
    // Its own tokenizer may need fewer.
    expect((await ask(4_400, 4_096)).fits).toBe(true);
    expect(await ask(5_000, 4_096)).toMatchObject({
      fits: false,
      size: expect.stringMatching(/its servers hold 4096/),
    });
    // One that holds more than the window leaves the specification's boundary where it is.
    expect((await ask(32_768, 40_960)).fits).toBe(true);
    expect((await ask(32_769, 40_960)).fits).toBe(false);
  });

  it("adds up what several messages have", async () => {
    const texts = Array.from({ length: 19 }, () => "word ".repeat(1_800).trim());
    expect((await budget({ messages: say(...texts), requested: 1, contextWindow: 32_768 })).fits).toBe(false);
    expect(await budget({ messages: say(...texts.slice(1)), requested: 1_000, contextWindow: 32_768 })).toEqual({
      fits: true,
      maxTokens: 32_768 - 18 * 1_805 - 3,
    });
  });

  it("does not exist for text far beyond any window, which is not counted", async () => {
    const unused = { count: () => expect.unreachable() } as unknown as TokenCounter;
    const messages = say("x".repeat(4_000_000));
    const prompt = { wallet: "0x01", messages, requested: 100, contextWindow: 32_768, serverWindow: null };
    expect((await tokenBudget(unused, prompt, STAYS)).fits).toBe(false);
  });
});

describe("counting prompts", () => {
  const letters = (length: number) =>
    Array.from({ length }, (_, i) => String.fromCharCode(97 + ((i * i + (i >> 3)) % 26))).join("");
  /** What takes longest: long words, and just not too many tokens. */
  const worst = { texts: Array.from({ length: 19 }, () => letters(107_000)), limit: 2_000_000 };
  const hello = { texts: ["Hello"], limit: 10 };
  /** Processor time of the whole process, ms. */
  const cpu = () => process.cpuUsage().user / 1_000;

  it("leaves the event loop free: its own thread does the work", async () => {
    // Not of the work: the thread's start.
    await counter.count("0x01", hello, STAYS);
    const [whole, own] = [cpu(), process.threadCpuUsage()];
    for (let i = 0; i < 5; i++) await counter.count("0x01", worst, STAYS);
    expect(process.threadCpuUsage(own).user / 1_000).toBeLessThan((cpu() - whole) / 5);
  });

  it("stops at the limit", async () => {
    const tokens = await counter.count("0x01", { ...worst, limit: 1_000 }, STAYS);
    expect(tokens).toBeGreaterThan(1_000);
    // A word is merged in parts of 2 KiB: with one more than the limit at most.
    expect(tokens).toBeLessThan(1_000 + 2_048);
  });

  it.each([
    ["long words", letters(2_000_000)],
    ["a run of spaces", " ".repeat(2_000_000)],
    [
      "signs that are no tokens",
      Array.from({ length: 500_000 }, (_, i) => String.fromCodePoint(0x4e00 + ((i * 7_919) % 20_000))).join(""),
    ],
  ])("takes no longer than prose does, for two megabytes of %s", (_what, text) => {
    // The most that a prompt in English can be: it fills the largest window.
    const prose = "The quick brown fox jumps over the lazy dog, and 42 geese fly. ".repeat(9_000);
    /** The least of three: a collection of garbage, or a core that others use, can fall into one. */
    const time = (work: () => void) => {
      const once = () => {
        const before = process.threadCpuUsage();
        work();
        return process.threadCpuUsage(before).user;
      };
      return Math.min(once(), once(), once());
    };
    countTokens(prose);
    expect(time(() => countTokens(text))).toBeLessThan(5 * time(() => countTokens(prose)));
  });

  it("estimates what is slow to count, and not too high", () => {
    const text = letters(400_000);
    const exact = reference(text.slice(0, 20_000)) * 20;
    expect(countTokens(text)).toBeGreaterThan(exact * 0.8);
    expect(countTokens(text)).toBeLessThan(exact * 1.05);
  });

  it("lets a short prompt pass beside long ones of other wallets", async () => {
    const order: string[] = [];
    const long = Array.from({ length: 6 }, (_, i) =>
      counter.count(`0x${i}`, worst, STAYS).then(() => order.push("long")),
    );
    const short = counter.count("modest", hello, STAYS).then(() => order.push("short"));
    await Promise.all([...long, short]);
    expect(order[0]).toBe("short");
  });

  it("is not done for clients that have left", async () => {
    const leave = new AbortController();
    const left = Array.from({ length: 60 }, () => counter.count("leaver", worst, leave.signal));
    const outcomes = Promise.allSettled(left);
    leave.abort(new Error("left"));
    expect(new Set((await outcomes).map(({ status }) => status))).toEqual(new Set(["rejected"]));
    await expect(counter.count("leaver", hello, leave.signal)).rejects.toThrow("left");
    // Of sixty long prompts, nothing is before the wallet's next one.
    const timed = async (work: Promise<number>) => {
      const before = cpu();
      await work;
      return cpu() - before;
    };
    const next = await timed(counter.count("leaver", hello, STAYS));
    expect(next).toBeLessThan(5 * (await timed(counter.count("leaver", worst, STAYS))));
  });

  it("lets wallets take turns", async () => {
    const order: string[] = [];
    const ask = (wallet: string) => counter.count(wallet, hello, STAYS).then(() => void order.push(wallet));
    await Promise.all([...Array.from({ length: 20 }, () => ask("greedy")), ask("modest")]);
    expect(order.indexOf("modest")).toBeLessThan(3);
  });

  it("is refused when too many wait, and goes on afterwards", async () => {
    const ask = (wallet: string) => counter.count(wallet, hello, STAYS);
    const asked = Array.from({ length: 2_000 }, (_, i) => ask(`0x${i % 100}`));
    const results = await Promise.allSettled(asked);
    const refused = results.filter(({ status }) => status === "rejected") as PromiseRejectedResult[];
    expect(refused.length).toBeGreaterThan(900);
    expect(refused[0]?.reason).toBeInstanceOf(TokenizerBusy);
    expect(await counter.count("0x01", hello, STAYS)).toBe(1);
  });

  it("has room for others, however many one wallet sends", async () => {
    const ask = (wallet: string) => counter.count(wallet, hello, STAYS);
    const greedy = Array.from({ length: 2_000 }, () => ask("greedy"));
    const modest = ask("modest");
    const results = await Promise.allSettled(greedy);
    expect(results.filter(({ status }) => status === "fulfilled").length).toBeLessThan(100);
    expect(await modest).toBe(1);
  });

  it("has room for a newcomer: the wallets that filled it give up their newest", async () => {
    const crowded = new TokenCounter();
    const ask = (wallet: string) => crowded.count(wallet, hello, STAYS);
    const greedy = Array.from({ length: 20 * 64 }, (_, i) => ask(`0x${i % 20}`));
    const outcomes = Promise.allSettled(greedy);
    const modest = Promise.all(Array.from({ length: 10 }, () => ask("modest")));
    expect(await modest).toEqual(Array<number>(10).fill(1));
    const counted = (await outcomes).map(({ status }) => status === "fulfilled");
    expect(counted.filter((isCounted) => isCounted).length).toBeGreaterThan(900);
    // The oldest of each are kept.
    expect(counted.slice(0, 20 * 40)).not.toContain(false);
    await crowded.stop();
  });

  it("of an answer takes samples of a long one", () => {
    const text = "The answer goes on and on. ".repeat(8_000);
    const exact = countTokens(text);
    expect(estimateTokens(text)).toBeGreaterThan(exact * 0.8);
    expect(estimateTokens(text)).toBeLessThan(exact * 1.3);
  });
});
