export type Repeated = { wake: () => void; stop: () => Promise<void> };

/**
 * Does `work` now, at least every `intervalMs`, and once more soon after each `wake`; never twice at a time. `work` handles its own errors.
 * `gapMs`: least time between the end of one round and the next. `stop` resolves when the running round is over; none follows.
 */
export function repeat(work: () => Promise<unknown>, intervalMs: number, gapMs = 0): Repeated {
  let [woken, stopped] = [false, false];
  let rouse = (): void => {};
  const rest = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, intervalMs);
      rouse = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const run = async (): Promise<void> => {
    while (!stopped) {
      woken = false;
      await work();
      if (gapMs > 0) await new Promise((resolve) => setTimeout(resolve, gapMs));
      if (!woken && !stopped) await rest();
    }
  };
  const running = run();
  return {
    wake: () => {
      woken = true;
      rouse();
    },
    stop: () => {
      stopped = true;
      rouse();
      return running;
    },
  };
}
