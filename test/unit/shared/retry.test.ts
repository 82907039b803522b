import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { retry, retryUntil } from "../../../shared/retry.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const options = { pauseMs: 100, timeoutMs: 1_000 };
/** Runs all timers, and tells how the promise ended. */
async function ended<T>(promise: Promise<T>) {
  const result = promise.then(
    (value) => ({ value }),
    (error: Error) => ({ error: error.message }),
  );
  await vi.runAllTimersAsync();
  return await result;
}

describe("retryUntil", () => {
  it.each([[0], [""], [[]], [true]])("resolves with the first result that is not false or null: %j", async (value) => {
    const attempt = vi.fn().mockReturnValueOnce(null).mockReturnValueOnce(false).mockResolvedValueOnce(undefined);
    attempt.mockReturnValue(value);
    expect(await ended(retryUntil(attempt, options))).toEqual({ value });
    expect(attempt).toHaveBeenCalledTimes(4);
  });

  it("resolves with null at the end of the time", async () => {
    const attempt = vi.fn(async () => false as const);
    expect(await ended(retryUntil(attempt, options))).toEqual({ value: null });
    expect(attempt).toHaveBeenCalledTimes(11);
  });

  it("makes one attempt where the pause does not fit into the time", async () => {
    const attempt = vi.fn(() => null);
    expect(await ended(retryUntil(attempt, { pauseMs: 100, timeoutMs: 99 }))).toEqual({ value: null });
    expect(attempt).toHaveBeenCalledTimes(1);
  });

  it("passes an error on", async () => {
    const attempt = vi.fn(async () => Promise.reject(new Error("broken")));
    expect(await ended(retryUntil(attempt, options))).toEqual({ error: "broken" });
    expect(attempt).toHaveBeenCalledTimes(1);
  });

  it.each([
    ["before the first attempt", 0, 0],
    ["in a pause", 250, 3],
  ])("rejects with the reason of a signal that is aborted %s", async (_, ms, attempts) => {
    const abort = new AbortController();
    const stop = () => abort.abort(new Error("given up"));
    if (ms === 0) stop();
    else setTimeout(stop, ms);
    const attempt = vi.fn(() => null);
    expect(await ended(retryUntil(attempt, { pauseMs: 100, signal: abort.signal }))).toEqual({ error: "given up" });
    expect(attempt).toHaveBeenCalledTimes(attempts);
  });
});

describe("retry", () => {
  const isBusy = (error: unknown) => (error as Error).message === "busy";

  it("outlasts errors that pass", async () => {
    const attempt = vi.fn(async () => "done").mockRejectedValueOnce(new Error("busy"));
    expect(await ended(retry(attempt, isBusy, options))).toEqual({ value: "done" });
    expect(attempt).toHaveBeenCalledTimes(2);
  });

  it("rejects with another error at once", async () => {
    const attempt = vi.fn(async () => Promise.reject(new Error("broken"))).mockRejectedValueOnce(new Error("busy"));
    expect(await ended(retry(attempt, isBusy, options))).toEqual({ error: "broken" });
    expect(attempt).toHaveBeenCalledTimes(2);
  });

  it("rejects with the last error at the end of the time, which is not asked about", async () => {
    const asked = vi.fn(isBusy);
    const attempt = vi.fn(async () => Promise.reject(new Error("busy")));
    expect(await ended(retry(attempt, asked, options))).toEqual({ error: "busy" });
    expect([attempt.mock.calls.length, asked.mock.calls.length]).toEqual([11, 10]);
  });

  it("rejects with the reason of a signal that is aborted in a pause", async () => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(new Error("given up")), 250);
    const attempt = vi.fn(async () => Promise.reject(new Error("busy")));
    const given = { pauseMs: 100, signal: abort.signal };
    expect(await ended(retry(attempt, isBusy, given))).toEqual({ error: "given up" });
  });
});
