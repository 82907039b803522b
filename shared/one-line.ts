/**
 * Somebody else's words, fit for a terminal and a log. Raw, they could move the cursor, erase a line, set the clipboard, add a line that looks like
 * the program's own, or show its words in another order.
 */
const CONTROLS = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Control characters as `\u001b`, also in JSON, which stays the same value. Line feeds stay: for the output of a program, whose lines are its own. */
export const escapeControls = (text: string): string =>
  text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

/**
 * A value as one line of at most `most` characters, control characters as `\u001b`.
 *
 * @example
 * oneLine("a\nb\u001b[2K"); // "a\\u000ab\\u001b[2K"
 */
export function oneLine(text: string, most = 200): string {
  const words = text.trim().slice(0, most + 1);
  const line = escapeControls(words.toWellFormed()).replaceAll("\n", "\\u000a");
  return line.length > most ? `${line.slice(0, most - 1).toWellFormed()}…` : line;
}
