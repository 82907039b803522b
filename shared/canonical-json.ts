import { createHash, type Hash } from "node:crypto";

/**
 * SHA-256 of a parsed JSON value, however its text was written: white space, escapes and the order of an object's fields do not count, and 1.0
 * is 1. Fields are in the order of their UTF-16 code units, as in RFC 8785. A bigint is hashed with its digits.
 */
export function canonicalHash(value: unknown): Buffer {
  const hash = createHash("sha256");
  write(hash, value);
  return hash.digest();
}

function write(hash: Hash, value: unknown): void {
  if (Array.isArray(value)) {
    hash.update("[");
    for (const [at, entry] of value.entries()) {
      if (at > 0) hash.update(",");
      write(hash, entry);
    }
    hash.update("]");
  } else if (typeof value === "object" && value !== null) {
    hash.update("{");
    for (const [at, name] of Object.keys(value).sort().entries()) {
      hash.update(`${at > 0 ? "," : ""}${JSON.stringify(name)}:`);
      write(hash, (value as Record<string, unknown>)[name]);
    }
    hash.update("}");
  } else hash.update(typeof value === "bigint" ? String(value) : JSON.stringify(value));
}
