/**
 * Calls `ask` for each item of `all`, `atOnce` at a time, because strangers can make the list long. Results are in the order of `all`. Rejects with
 * the first error.
 *
 * @example
 * await inBatches([1, 2, 3], 2, async (n) => n * 2); // [2, 4, 6]
 */
export async function inBatches<T, R>(all: readonly T[], atOnce: number, ask: (one: T) => Promise<R>): Promise<R[]> {
  const found: R[] = [];
  for (let i = 0; i < all.length; i += atOnce) {
    found.push(...(await Promise.all(all.slice(i, i + atOnce).map(ask))));
  }
  return found;
}
