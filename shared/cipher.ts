import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM for what is kept at rest (answers, webhooks' secrets and URLs), with a key of its own per purpose derived from the
 * master key. The context (a job id, a webhook id) is authenticated, so that a row's ciphertext cannot be moved to another.
 * Other master keys, the one before or the one to come, decrypt too.
 */
export class Cipher {
  readonly #key: KeyObject;
  readonly #others: readonly KeyObject[];

  constructor(masterKeyHex: string, purpose: string, others: readonly string[] = []) {
    const derive = (hex: string) =>
      createSecretKey(Buffer.from(hkdfSync("sha256", Buffer.from(hex, "hex"), "", purpose, 32)));
    this.#key = derive(masterKeyHex);
    this.#others = others.map(derive);
  }

  /** nonce ‖ tag ‖ ciphertext. */
  encrypt(text: string, context: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce).setAAD(Buffer.from(context));
    const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), body]);
  }

  /** Throws if the data or its context was altered, or if none of the master keys is the one it was encrypted with. */
  decrypt(data: Buffer, context: string): string {
    return this.#open(data, context).text;
  }

  /** The same under the current master key; null if it is so already. Throws as `decrypt` does. */
  renew(data: Buffer, context: string): Buffer | null {
    const { key, text } = this.#open(data, context);
    return key === this.#key ? null : this.encrypt(text, context);
  }

  #open(data: Buffer, context: string): { key: KeyObject; text: string } {
    for (const key of [this.#key, ...this.#others]) {
      const text = openWith(key, data, context);
      if (text !== null) return { key, text };
    }
    throw new Error(
      "What is stored cannot be decrypted: it was altered, or its key is another one (of a gateway: neither MASTER_KEY nor one of OTHER_MASTER_KEYS).",
    );
  }
}

/** The text; null if the tag does not fit: the key is another one, or the data or its context was altered. */
function openWith(key: KeyObject, data: Buffer, context: string): string | null {
  const nonce = data.subarray(0, NONCE_BYTES);
  const tag = data.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  if (tag.length < TAG_BYTES) return null;
  const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context)).setAuthTag(tag);
  const text = decipher.update(data.subarray(NONCE_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([text, decipher.final()]).toString("utf8");
  } catch {
    return null;
  }
}
