/** Longer than this, a rate of one day says nothing. */
const MOST_DAYS = 365;

/**
 * How long free credits last if each day costs as much as the last 24 hours did: `about 12 days`. Null where nothing was used, because then
 * there is no rate.
 */
export function lastsFor(free: number, spentInDay: number): string | null {
  if (spentInDay <= 0) return null;
  const days = free / spentInDay;
  if (days > MOST_DAYS) return "more than a year";
  // Rounded down: it is no promise, but no flattery either.
  return days >= 2 ? `about ${Math.floor(days)} days` : days >= 1 ? "about a day" : "less than a day";
}
