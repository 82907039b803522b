import type { StackFile } from "../../shared/stack-file.ts";

/** A running stack as its clients know it. */
export type KnownStack = { info: StackFile };

export const JSON_TYPE = { "content-type": "application/json" };

/** A chat request body with one user message. */
export function chat(model: string, content: string, more: Record<string, unknown> = {}) {
  return { model, messages: [{ role: "user", content }], ...more };
}

/** Plain HTTP against a stack's API, as curl would do it. */
export function apiClient(stack: KnownStack, apiKey: string | null = stack.info.demo?.api_key ?? null) {
  /** A request with headers and a body of one's own. */
  const send = (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string | Uint8Array<ArrayBuffer>,
    signal?: AbortSignal,
  ) =>
    fetch(`${stack.info.base_url}${path}`, {
      method,
      headers: { ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }), ...headers },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
  const request = (method: string, path: string, body?: unknown, signal?: AbortSignal) =>
    body === undefined
      ? send(method, path, {}, undefined, signal)
      : send(method, path, JSON_TYPE, JSON.stringify(body), signal);
  const get = async (path: string) => {
    const response = await request("GET", path);
    // biome-ignore lint/suspicious/noExplicitAny: whatever the API answers is what the tests look at
    return { status: response.status, headers: response.headers, body: (await response.json()) as any };
  };
  const post = async (path: string, body: unknown) => {
    const response = await request("POST", path, body);
    // biome-ignore lint/suspicious/noExplicitAny: as above
    return { status: response.status, headers: response.headers, body: (await response.json()) as any };
  };
  return { send, request, get, post };
}

export type ApiClient = ReturnType<typeof apiClient>;

// biome-ignore lint/suspicious/noExplicitAny: as above
export const errorOf = async (response: Response) => ((await response.json()) as any).error;

/** The `data:` values of a streamed reply, as text. */
export async function readStream(response: Response): Promise<string[]> {
  const text = await response.text();
  return text
    .split("\n\n")
    .filter((event) => event.startsWith("data: "))
    .map((event) => event.slice(6));
}

/**
 * Asks until `check` is true, at most `ms`: far more than it takes, so that a machine that stands still for seconds fails nothing. What
 * takes seconds is asked less often: the questions of waiting tests take processor time from the others.
 */
export async function eventually<T>(ask: () => Promise<T>, check: (value: T) => boolean, ms = 60_000): Promise<T> {
  const began = Date.now();
  for (;;) {
    const value = await ask();
    if (check(value)) return value;
    const waited = Date.now() - began;
    if (waited > ms) throw new Error(`still not so after ${ms} ms: ${JSON.stringify(value)?.slice(0, 500)}`);
    await new Promise((resolve) => setTimeout(resolve, Math.min(250, Math.max(50, waited / 10))));
  }
}
