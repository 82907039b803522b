import { describe, expect, it } from "vitest";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { answerBounds } from "../../../protocol/dispatch.ts";
import type { BackendPiece, Pieces } from "../../../worker/backends/backend.ts";
import { Answer, Generation } from "../../../worker/jobs/answer.ts";

/** Feeds pieces; returns what was sent, piece by piece. */
function deliver(...pieces: string[]): { sent: string[]; text: string; hash: string } {
  const answer = new Answer();
  const sent = [...pieces.map((piece) => answer.write(piece)), answer.end()].filter((piece) => piece !== "");
  return { sent, text: answer.text(), hash: answer.digest() };
}

describe("answer", () => {
  it.each([
    [["a", "\n", "\n"], "a"],
    [["a\n\n", "b\n"], "a\n\nb"],
    [["\n", "\n"], ""],
    [["a\r\n", "\r", "\n"], "a"],
    [["a\n", " ", "\n"], "a\n "],
    [[""], ""],
    [["a\n\ud83c", "\udf31\n"], "a\n🌱"],
    [["\ud83c", "x"], "\ufffdx"],
    [["x\ud83c"], "x\ufffd"],
    [["x\n", "\ud83c"], "x\n\ufffd"],
    [["\udf31"], "\ufffd"],
  ])("%j is delivered as %j", (pieces, text) => {
    const delivered = deliver(...pieces);
    expect(delivered.text).toBe(text);
    expect(delivered.sent.join("")).toBe(text);
    expect(delivered.sent.every((piece) => piece.isWellFormed())).toBe(true);
    expect(delivered.hash).toBe(answerHash(text));
  });

  it("sends newlines as soon as something follows", () => {
    expect(deliver("a\n", "\n", "b").sent).toEqual(["a", "\n\nb"]);
  });

  it("is the same however the text is cut", () => {
    const text = "\nA 🌱\r\n\r\nb\n\n👩‍👩‍👧\n\n";
    for (let i = 0; i <= text.length; i++) {
      for (let j = i; j <= text.length; j++) {
        expect(deliver(text.slice(0, i), text.slice(i, j), text.slice(j)).text).toBe(text.replace(/\n+$/, ""));
      }
    }
  });

  it("stays fast when a backend is stuck on newlines", () => {
    const answer = new Answer();
    // Processor time, which a busy machine does not lengthen.
    const before = process.cpuUsage();
    for (let i = 0; i < 200_000; i++) answer.write("\n");
    expect(answer.end()).toBe("");
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
  });
});

describe("reasoning", () => {
  const request = { messages: [{ role: "user" as const, content: "Write" }], max_tokens: 100 };
  const usage = { promptTokens: 7, completionTokens: 50, reasoningTokens: null };

  async function* generated(...pieces: BackendPiece[]): Pieces {
    for (const piece of pieces) yield piece;
  }
  const thought = { kind: "reasoning", text: "x".repeat(80) } as const;
  const text = { kind: "text", text: "y".repeat(20) } as const;
  const drain = async (...pieces: BackendPiece[]) => {
    const sent: [string, string][] = [];
    const generation = new Generation(generated(...pieces), request);
    const result = await generation.drain((kind, piece) => sent.push([kind, piece]), {
      cut: new AbortController().signal,
    });
    return { sent, ...result };
  };

  it("is sent beside the answer, and neither hashed nor counted with it", async () => {
    const { sent, answer, usage: counted } = await drain(thought, text, { kind: "end", finishReason: "stop", usage });
    expect(sent).toEqual([
      ["reasoning", thought.text],
      ["delta", text.text],
    ]);
    expect(answer.digest()).toBe(answerHash(text.text));
    // Most model servers count both together: the answer has its part by its characters.
    expect(counted).toEqual({ promptTokens: 7, completionTokens: 10, reasoningTokens: 40, textBytes: 20 });
  });

  it.each([
    ["the model server counts it apart", { ...usage, reasoningTokens: 45 }, [5, 45]],
    ["the model server counts more of it than there is of both", { ...usage, reasoningTokens: 60 }, [0, 50]],
    ["the model server says that there was none", { ...usage, reasoningTokens: 0 }, [10, 40]],
    ["the model server counts nothing", null, [3, 10]],
    ["the model server tells the prompt's tokens only", { ...usage, completionTokens: null }, [3, 10]],
  ])("is taken from the count where %s", async (_where, counted, tokens) => {
    const { usage: signed } = await drain(thought, text, { kind: "end", finishReason: "stop", usage: counted });
    expect([signed.completionTokens, signed.reasoningTokens]).toEqual(tokens);
  });

  it("that the model server counts and does not send is neither answered nor signed", async () => {
    const hidden = { ...usage, reasoningTokens: 45 };
    const { usage: signed } = await drain(text, { kind: "end", finishReason: "stop", usage: hidden });
    expect(signed).toEqual({ promptTokens: 7, completionTokens: 5, reasoningTokens: 0, textBytes: 20 });
  });

  it.each([
    ["max_tokens for both together", { completionTokens: 150, reasoningTokens: 120 }, [20, 80]],
    ["a token a byte of each", { completionTokens: 90, reasoningTokens: 5 }, [20, 5]],
  ])("is signed up to %s", async (_what, counts, tokens) => {
    const counted = { promptTokens: 7, ...counts };
    const { usage: signed } = await drain(thought, text, { kind: "end", finishReason: "stop", usage: counted });
    expect([signed.completionTokens, signed.reasoningTokens]).toEqual(tokens);
  });

  it("that uses all of max_tokens leaves an empty answer", async () => {
    const {
      answer,
      usage: counted,
      finishReason,
    } = await drain(thought, {
      kind: "end",
      finishReason: "length",
      usage: { ...usage, completionTokens: 100 },
    });
    expect([answer.text(), counted.completionTokens, finishReason]).toEqual(["", 0, "length"]);
  });

  it("without end ends the job", async () => {
    const endless: BackendPiece = { kind: "reasoning", text: "x".repeat(103_000) };
    await expect(drain(endless)).rejects.toMatchObject({ code: "answer_too_long" });
  });
});

describe("an answer of a model server that ignores max_tokens", () => {
  // Its gateway takes more than these bounds for misconduct of the worker.
  const most = answerBounds(16);
  async function* endless(text: string): Pieces {
    for (;;) yield { kind: "text", text };
  }

  it.each([
    ["of long characters", "語".repeat(20_000)],
    ["in one piece", "x".repeat(3_000_000)],
    ["in tiny pieces", "x"],
    ["of new lines", "\n"],
  ])("%s is ended before the gateway's bounds", async (_what, text) => {
    let [bytes, pieces] = [0, 0];
    const generation = new Generation(endless(text), { messages: [], max_tokens: 16 });
    const send = (_kind: string, piece: string) => {
      bytes += Buffer.byteLength(piece);
      pieces += 1;
    };
    const drained = generation.drain(send, { cut: new AbortController().signal });
    await expect(drained).rejects.toMatchObject({ code: "answer_too_long" });
    expect(bytes).toBeLessThanOrEqual(most.bytes);
    expect(pieces).toBeLessThanOrEqual(most.pieces);
  });
});

describe("an answer whose time is over", () => {
  const request = { messages: [{ role: "user" as const, content: "Write" }], max_tokens: 100 };

  /** Yields the texts, then waits for ever. */
  async function* stuck(...texts: string[]): Pieces {
    for (const text of texts) yield { kind: "text", text };
    await new Promise(() => {});
  }

  it("ends with `length`: what was delivered until then, by its own count", async () => {
    const cut = new AbortController();
    const sent: string[] = [];
    const drained = new Generation(stuck("a few words", ", and more\n"), request).drain(
      (_kind, text) => {
        sent.push(text);
        if (sent.length === 2) cut.abort();
      },
      { cut: cut.signal },
    );
    const { answer, usage, finishReason } = await drained;
    expect(finishReason).toBe("length");
    expect(usage.completionTokens).toBe(6);
    expect(answer.text()).toBe("a few words, and more");
    expect(sent.join("")).toBe(answer.text());
    expect(answer.digest()).toBe(answerHash(answer.text()));
  });

  it("is empty if the model wrote newlines only, and was seen working", async () => {
    const cut = new AbortController();
    const sent: string[] = [];
    const drained = new Generation(stuck("\n", "\n\n", "\r\n"), request).drain(
      (kind) => {
        sent.push(kind);
        setTimeout(() => cut.abort(), 20);
      },
      { cut: cut.signal },
    );
    const { answer, usage, finishReason } = await drained;
    expect([answer.text(), usage.completionTokens, finishReason]).toEqual(["", 0, "length"]);
    expect(sent).toEqual(["begun"]);
  });

  it("goes on while there is no text: nothing is sold for nothing", async () => {
    const cut = AbortSignal.abort();
    const drained = new Generation(stuck(), request).drain(() => {}, { cut });
    await expect(Promise.race([drained, new Promise((resolve) => setTimeout(resolve, 50, "open"))])).resolves.toBe(
      "open",
    );
  });

  it("is empty where its gateway has it ended before any text: its client has left", async () => {
    const [end, cut] = [new AbortController(), new AbortController().signal];
    const drained = new Generation(stuck(), request).drain(() => {}, { cut, end: end.signal });
    end.abort();
    const { answer, usage, finishReason } = await drained;
    expect([answer.text(), usage.completionTokens, finishReason]).toEqual(["", 0, "length"]);
  });

  it("is its own where the model server had ended it before", async () => {
    async function* whole(): Pieces {
      yield { kind: "text", text: "done" };
      yield { kind: "end", finishReason: "stop", usage: null };
    }
    const { finishReason, usage } = await new Generation(whole(), request).drain(() => {}, {
      cut: new AbortController().signal,
    });
    expect([finishReason, usage.completionTokens]).toEqual(["stop", 1]);
  });
});

describe("an answer whose model server counts nothing", () => {
  const request = { messages: [{ role: "user" as const, content: "Write" }], max_tokens: 4_850 };
  const counted = async (finishReason: "stop" | "length", ...texts: string[]) => {
    async function* pieces(): Pieces {
      for (const text of texts) yield { kind: "text", text };
      yield { kind: "end", finishReason, usage: null };
    }
    const { usage } = await new Generation(pieces(), request).drain(() => {}, { cut: new AbortController().signal });
    return usage;
  };

  it("has the tokens of its text, however it was cut, and never max_tokens", async () => {
    const text = " hello".repeat(1_900);
    expect((await counted("length", text)).completionTokens).toBe(1_900);
    expect((await counted("length", ...(text.match(/.{1,7}/gs) as string[]))).completionTokens).toBe(1_900);
    expect((await counted("stop", ...text)).completionTokens).toBe(1_900);
  });

  it.each([
    ["English", "The quick brown fox jumps over the lazy dog, and nobody is surprised about that.", 17],
    ["German", "Donaudampfschifffahrtsgesellschaften überprüfen regelmäßig ihre Kapitänsmützen.", 20],
    ["Chinese", "敏捷的棕色狐狸跳过了懒狗，没有人感到惊讶。", 21],
    ["Russian", "Быстрая коричневая лиса перепрыгивает через ленивую собаку.", 20],
    ["code", "for (let i = 0; i < items.length; i += 1) {\n  total += items[i].price;\n}\n", 28],
    ["digits", "3141592653589793238462643383279502884197", 14],
  ])("counts %s about as common tokenizers do", async (_what, text, o200k) => {
    const { completionTokens } = await counted("stop", text);
    // Within these bounds a gateway believes it.
    expect(completionTokens).toBeGreaterThan(o200k / 2.5);
    expect(completionTokens).toBeLessThan(o200k * 2.5);
  });
});
