/**
 * The built-in generator's tokenizer: a token is up to 12 letters, up to 3 digits or a run of other characters, each with the
 * white space before it. The built-in generator counts by it, and it is the estimate when a model server names no usage.
 */
const TOKEN = /\s*(?:\p{L}{1,12}|\p{N}{1,3}|[^\s\p{L}\p{N}]+)|\s+$/gu;

/** Splits text into tokens; joined they are the text. */
export function tokenize(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/** Number of tokens of a conversation: its texts, and three for each message's frame. */
export function countPromptTokens(messages: readonly { content: string }[]): number {
  return messages.reduce((sum, message) => sum + tokenize(message.content).length + 3, 0);
}
