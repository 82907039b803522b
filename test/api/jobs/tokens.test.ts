import { describe, expect, it } from "vitest";
import { estimatePromptTokens, tokenBudget } from "../../../api/jobs/tokens.ts";

const say = (content: string) => [{ role: "user" as const, content }];

describe("the token budget of a request", () => {
  it("is 2,000 output tokens when the client names none", () => {
    expect(tokenBudget(say("Hello"), undefined, 32_768)).toEqual({ fits: true, maxTokens: 2_000 });
  });

  it("is what the client asks for, while the window has room", () => {
    expect(tokenBudget(say("Hello"), 30_000, 32_768)).toEqual({ fits: true, maxTokens: 30_000 });
  });

  it("is what the window leaves, at most", () => {
    const messages = say("Hello");
    const prompt = estimatePromptTokens(messages);
    expect(tokenBudget(messages, 1_000, prompt + 10)).toEqual({ fits: true, maxTokens: 10 });
    expect(tokenBudget(messages, 1_000, prompt + 1)).toEqual({ fits: true, maxTokens: 1 });
  });

  it("does not exist for a prompt as large as the window", () => {
    const messages = say("word ".repeat(500));
    const prompt = estimatePromptTokens(messages);
    expect(tokenBudget(messages, 1, prompt)).toEqual({ fits: false, promptTokens: prompt });
    expect(tokenBudget(messages, 1, prompt + 1)).toEqual({ fits: true, maxTokens: 1 });
  });

  it("counts text far beyond any window without the tokenizer", () => {
    const huge = say("x".repeat(4_000_000));
    expect(tokenBudget(huge, undefined, 32_768).fits).toBe(false);
  });
});
