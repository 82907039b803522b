/** Characters that some readers take for the end of a line: Python's `splitlines`, which httpx and requests use, and others. */
const LINE_ENDS = /[\u007f-\u009f\u2028\u2029]/g;

/** JSON that is one line to every reader. JSON itself escapes the line ends of ASCII only. */
export const lineJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    LINE_ENDS,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
