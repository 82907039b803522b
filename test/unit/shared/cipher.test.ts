import { describe, expect, it } from "vitest";
import { Cipher } from "../../../shared/cipher.ts";

const KEY = "01".repeat(32);

describe("answers at rest", () => {
  it("come back as they were", () => {
    const cipher = new Cipher(KEY, "answers");
    expect(cipher.decrypt(cipher.encrypt("Zürich ✨", "job_1"), "job_1")).toBe("Zürich ✨");
  });

  it("are not readable as text, and never the same twice", () => {
    const cipher = new Cipher(KEY, "answers");
    const [first, second] = [cipher.encrypt("a secret", "job_1"), cipher.encrypt("a secret", "job_1")];
    expect(first.toString("utf8")).not.toContain("secret");
    expect(first.equals(second)).toBe(false);
  });

  it("open with the right key, purpose and job only, and not when a bit was changed", () => {
    const data = new Cipher(KEY, "answers").encrypt("a secret", "job_1");
    expect(() => new Cipher("02".repeat(32), "answers").decrypt(data, "job_1")).toThrow();
    expect(() => new Cipher(KEY, "webhooks").decrypt(data, "job_1")).toThrow();
    expect(() => new Cipher(KEY, "answers").decrypt(data, "job_2")).toThrow();
    data[data.length - 1] = (data.at(-1) ?? 0) ^ 1;
    expect(() => new Cipher(KEY, "answers").decrypt(data, "job_1")).toThrow();
  });
});

describe("another master key", () => {
  const [OLD, NEW] = [KEY, "02".repeat(32)];
  const old = new Cipher(OLD, "answers").encrypt("a secret", "job_1");

  it("opens what it closed, before and after the change", () => {
    expect(new Cipher(NEW, "answers", [OLD]).decrypt(old, "job_1")).toBe("a secret");
    const next = new Cipher(NEW, "answers").encrypt("the next", "job_2");
    expect(new Cipher(OLD, "answers", [NEW]).decrypt(next, "job_2")).toBe("the next");
    expect(() => new Cipher(NEW, "answers", ["03".repeat(32)]).decrypt(old, "job_1")).toThrow("OTHER_MASTER_KEYS");
  });

  it("is no longer needed for what was renewed", () => {
    const cipher = new Cipher(NEW, "answers", [OLD]);
    const renewed = cipher.renew(old, "job_1") as Buffer;
    expect(new Cipher(NEW, "answers").decrypt(renewed, "job_1")).toBe("a secret");
    expect(cipher.renew(renewed, "job_1")).toBeNull();
    expect(() => cipher.renew(old, "job_2")).toThrow();
  });
});
