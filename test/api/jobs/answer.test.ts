import { describe, expect, it } from "vitest";
import { Answer, SentAnswer } from "../../../api/jobs/answer.ts";
import { answerHash } from "../../../protocol/answer-hash.ts";

async function readAll(answer: Answer): Promise<string[]> {
  const pieces: string[] = [];
  for await (const { kind, text } of answer.read()) pieces.push(kind === "content" ? text : `(${text})`);
  return pieces;
}

describe("what was sent of an answer", () => {
  it("is whole when the reply had its end and the connection took all of it", () => {
    for (const [ends, isFlushed] of [
      [true, true],
      [true, false],
      [false, true],
    ] as const) {
      const sent = new SentAnswer();
      for (const text of ["Zü", "rich \ud83d", "\ude00"]) sent.piece({ kind: "content", text });
      if (ends) sent.end();
      const { sentHash, sentComplete } = sent.closed(isFlushed);
      expect([sentHash, sentComplete]).toEqual([answerHash("Zürich 😀"), ends && isFlushed]);
    }
  });

  it("is what was written before the connection ended, reasoning apart from the text", () => {
    const sent = new SentAnswer();
    sent.piece({ kind: "reasoning", text: "Hm… " });
    sent.piece({ kind: "content", text: "the answer" });
    sent.piece({ kind: "reasoning", text: "so." });
    const expected = { sentHash: answerHash("the answer"), sentCharacters: 10, sentComplete: false, sentReasoning: 7 };
    expect(sent.closed(false)).toEqual(expected);
  });

  it("is nothing where the client was gone before, whatever the job still writes", () => {
    const sent = new SentAnswer();
    expect(sent.closed(false)).toEqual({
      sentHash: answerHash(""),
      sentCharacters: 0,
      sentComplete: false,
      sentReasoning: 0,
    });
    for (const kind of ["content", "reasoning"] as const) sent.piece({ kind, text: "the answer" });
    expect(sent.bytes).toBe(0);
  });
});

describe("an answer", () => {
  it("has the hash of its whole text, wherever it was cut", () => {
    const text = "Zürich 東京 ✨ 👩‍💻 end";
    const answer = new Answer();
    for (const unit of text.split("")) answer.append(unit);
    expect(answer.end()).toBe(answerHash(text));
    expect(answer.text).toBe(text);
    expect(answer.bytes).toBe(Buffer.byteLength(text));
  });

  it("reaches a reader that comes late, and one that is there from the start", async () => {
    const answer = new Answer();
    const early = readAll(answer);
    answer.append("one ");
    await Promise.resolve();
    answer.append("two ");
    answer.append("three");
    answer.end();
    expect((await early).join("")).toBe("one two three");
    expect(await readAll(answer)).toEqual(["one two three"]);
  });

  it("keeps reasoning in its place, and out of its hash and length", async () => {
    const answer = new Answer();
    for (const text of ["Hm", "m."]) answer.reason(text);
    answer.append("4");
    answer.append("2");
    answer.reason("Done.");
    expect(answer.end()).toBe(answerHash("42"));
    expect([answer.text, answer.bytes, answer.reasoning]).toEqual(["42", 2, "Hmm.Done."]);
    expect(await readAll(answer)).toEqual(["(Hmm.)", "42", "(Done.)"]);
  });

  it("ends its readers when it is aborted", async () => {
    const answer = new Answer();
    const reading = readAll(answer);
    answer.append("part");
    await Promise.resolve();
    answer.abort();
    expect((await reading).join("")).toBe("part");
  });
});
