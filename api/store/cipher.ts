import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM for what is kept at rest (answers, webhook secrets), with a key of its own per purpose derived from the
 * master key. The context (a job id, a webhook id) is authenticated, so that a row's ciphertext cannot be moved to another.
 */
export class Cipher {
  readonly #key: Buffer;

  constructor(masterKeyHex: string, purpose: string) {
    this.#key = Buffer.from(hkdfSync("sha256", Buffer.from(masterKeyHex, "hex"), "", purpose, 32));
  }

  /** nonce ‖ tag ‖ ciphertext. */
  encrypt(text: string, context: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce).setAAD(Buffer.from(context));
    const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), body]);
  }

  /** Throws if the data or its context was altered, or the master key is another one. */
  decrypt(data: Buffer, context: string): string {
    const nonce = data.subarray(0, NONCE_BYTES);
    const tag = data.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv("aes-256-gcm", this.#key, nonce).setAAD(Buffer.from(context)).setAuthTag(tag);
    return decipher.update(data.subarray(NONCE_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
  }
}
