/** The two ways to try again: `retryUntil` waits for a result, `retry` outlasts an error. Their pauses keep the process alive. */

/** The last attempt begins before `timeoutMs` are over; without it there is no last one. An aborted `signal` rejects with its reason. */
type RetryOptions = { pauseMs: number; timeoutMs?: number; signal?: AbortSignal };

type Falsy = false | null | undefined;

/**
 * Makes attempts until one has a result that is not false or null, and resolves with it; with null at the end of the time. An error of an
 * attempt is passed on.
 *
 * @example const found = await retryUntil(() => findBlock(number), { pauseMs: 250, timeoutMs: 3_000 });
 */
export function retryUntil<T>(
  attempt: () => T | Falsy | Promise<T | Falsy>,
  options: RetryOptions & { timeoutMs: number },
): Promise<T | null>;
export function retryUntil<T>(attempt: () => T | Falsy | Promise<T | Falsy>, options: RetryOptions): Promise<T>;
export async function retryUntil<T>(
  attempt: () => T | Falsy | Promise<T | Falsy>,
  { pauseMs, timeoutMs = Number.POSITIVE_INFINITY, signal }: RetryOptions,
): Promise<T | null> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    const result = await attempt();
    if (result !== false && result !== null && result !== undefined) return result;
    if (performance.now() + pauseMs > end) return null;
    await pause(pauseMs, signal);
  }
}

/**
 * Makes attempts as long as they fail with an error that `isPassing`, and resolves with the first result. Rejects with another error, or with
 * the last one at the end of the time.
 *
 * @example const hash = await retry(send, (error) => isNonceRace(error), { pauseMs: 100, timeoutMs: 5_000 });
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  isPassing: (error: unknown) => boolean,
  { pauseMs, timeoutMs = Number.POSITIVE_INFINITY, signal }: RetryOptions,
): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() + pauseMs > end || !isPassing(error)) throw error;
    }
    await pause(pauseMs, signal);
  }
}

/** Ends at once when the signal is aborted. */
const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
