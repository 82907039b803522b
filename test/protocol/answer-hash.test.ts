import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { answerHash, fromProofHash, toProofHash } from "../../protocol/answer-hash.ts";
import { AnswerHash } from "../../shared/answer-hash.ts";

/** Computed with `printf '%s' … | sha256sum`: independent of this code. */
const VECTORS = [
  ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  ["é", "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"],
  ["🌱", "13e97f9e27e5533c5929f0afc388e6312102ae6ed8cd168113cfa60cb558ce52"],
] as const;

describe("answer hash", () => {
  it.each(VECTORS)("of %j", (text, hash) => {
    expect(answerHash(text)).toBe(`0x${hash}`);
  });

  it("does not depend on where the text is cut, surrogate pairs included", () => {
    const text = "a🌱b👩‍👩‍👧c東京\n\n𝒳";
    const whole = answerHash(text);
    expect(whole).toBe(`0x${createHash("sha256").update(text, "utf8").digest("hex")}`);
    for (let at = 0; at <= text.length; at++) {
      const hash = new AnswerHash().update(text.slice(0, at)).update("").update(text.slice(at));
      expect([at, hash.digest()]).toEqual([at, whole]);
      expect(hash.bytes).toBe(Buffer.byteLength(text));
    }
    const byUnit = new AnswerHash();
    for (let at = 0; at < text.length; at++) byUnit.update(text.charAt(at));
    expect(byUnit.digest()).toBe(whole);
  });

  it("takes half a surrogate pair at the end for U+FFFD, as every UTF-8 encoder does", () => {
    expect(new AnswerHash().update("a\ud83c").digest()).toBe(answerHash("a\ufffd"));
  });

  it("tells texts apart that differ by a trailing newline", () => {
    expect(answerHash("a\n")).not.toBe(answerHash("a"));
  });
});

describe("proof hash of the API", () => {
  it("is the same hash in another form", () => {
    const hash = answerHash("abc");
    expect(toProofHash(hash)).toBe(`sha256:${hash.slice(2)}`);
    expect(fromProofHash(toProofHash(hash))).toBe(hash);
    expect(fromProofHash(toProofHash(hash).toUpperCase().replace("SHA256", "sha256"))).toBe(hash);
  });

  it.each(["", "sha256:", "sha256:12", `sha256:${"g".repeat(64)}`, "a".repeat(64), `sha256:${"a".repeat(65)}`])(
    "%j is none",
    (text) => {
      expect(fromProofHash(text)).toBeNull();
    },
  );
});
