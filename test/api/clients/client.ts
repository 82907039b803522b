/** A stock client as its users drive it: nothing is changed but base URL and key. */
export type Client = {
  /** The text of a plain reply, and the job it came from. */
  plain: (model: string, prompt: string) => Promise<{ text: string; jobId: string }>;
  /** Pieces of a streamed reply as they come. Ends, without a text that is not there, when `signal` aborts. */
  streamed: (model: string, prompt: string, signal?: AbortSignal) => AsyncIterable<string>;
  /** Status and error code that the client reports for a request that is refused. */
  refused: (model: string) => Promise<{ status: number; code: string }>;
  /** The same as `plain`, with the client's own retries. */
  patient: (model: string, prompt: string) => Promise<string>;
};

export type Connect = (baseUrl: string, apiKey: string) => Client;

export const RETRIES = 10;

export const jobIdOf = (completionId: string) => completionId.replace("chatcmpl-", "");
