import { sha256, stringToBytes } from "viem";
import { toProofHash } from "../../../protocol/answer-hash.ts";

/**
 * The hash of a text as in a proof: SHA-256 of its UTF-8 bytes without a trailing newline. In plain JavaScript, because the browser's own
 * hashing is missing on pages that are not served over HTTPS.
 */
export function hashOfText(text: string): string {
  return toProofHash(sha256(stringToBytes(withoutTrailingNewline(text))));
}

/** The same for a file, read as the bytes it has. */
export async function hashOfFile(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let end = bytes.length;
  if (bytes[end - 1] === 0x0a) end -= bytes[end - 2] === 0x0d ? 2 : 1;
  return toProofHash(sha256(bytes.subarray(0, end)));
}

/** Answers never end in a newline; editors and terminals add one. */
const withoutTrailingNewline = (text: string): string => text.replace(/\r?\n$/, "");
