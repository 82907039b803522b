import { describe, expect, it } from "vitest";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { Answer } from "../../../worker/jobs/answer.ts";

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

  it("puts reasoning into <think>, and closes it when nothing follows", () => {
    const answer = new Answer();
    expect([answer.think("a"), answer.think("b\n"), answer.write("c"), answer.think("d"), answer.end()]).toEqual([
      "<think>a",
      "b",
      "\n</think>c",
      "<think>d",
      "</think>",
    ]);
    expect(answer.text()).toBe("<think>ab\n</think>c<think>d</think>");
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
