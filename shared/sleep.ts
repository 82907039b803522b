/** Waits without keeping the process alive. Tests with a clock of their own move it, unlike the timers of `node:timers/promises`. */
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());
