/** The value below which `share` of the (unsorted) numbers lie, by the nearest rank; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export const p50 = (values: readonly number[]): number => percentile(values, 0.5);
export const p99 = (values: readonly number[]): number => percentile(values, 0.99);

/** Milliseconds or counts as a table shows them. */
export function shown(value: number, digits = 1): string {
  return Number.isFinite(value) ? value.toFixed(digits) : "–";
}
