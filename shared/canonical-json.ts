import { createHash } from "node:crypto";

/** Characters that are hashed at once: each call of the hash costs as much as some hundred of them. */
const PIECE = 16_384;

/**
 * SHA-256 of a parsed JSON value, however its text was written: white space, escapes and the order of an object's fields do not count, and 1.0
 * is 1. Fields are in the order of their UTF-16 code units, as in RFC 8785. A bigint is hashed with its digits.
 */
export function canonicalHash(value: unknown): Buffer {
  const hash = createHash("sha256");
  let piece = "";
  write(value, (text) => {
    piece += text;
    if (piece.length < PIECE) return;
    hash.update(piece);
    piece = "";
  });
  return hash.update(piece).digest();
}

function write(value: unknown, add: (text: string) => void): void {
  if (Array.isArray(value)) {
    add("[");
    for (const [at, entry] of value.entries()) {
      if (at > 0) add(",");
      write(entry, add);
    }
    add("]");
  } else if (typeof value === "object" && value !== null) {
    add("{");
    for (const [at, name] of Object.keys(value).sort().entries()) {
      add(`${at > 0 ? "," : ""}${JSON.stringify(name)}:`);
      write((value as Record<string, unknown>)[name], add);
    }
    add("}");
  } else add(typeof value === "bigint" ? String(value) : JSON.stringify(value));
}
