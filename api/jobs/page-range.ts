/** Where a page of jobs begins and ends. */
import type { JobQuery, JobRow } from "../index/index.ts";
import type { JobRange } from "../store/jobs.ts";
import type { JobObject } from "./view.ts";

/** Ids are made this long before their lock is mined, at most. */
const MINED_WITHIN_MS = 120_000;

/** The page down to a job id; the next one goes on below it. */
export function cutAt(floor: string, jobs: readonly JobObject[], limit: number): { data: JobObject[]; cursor: string } {
  const above = jobs.filter((job) => job.id >= floor);
  const data = above.slice(0, limit);
  return { data, cursor: above.length > limit ? (data.at(-1)?.id ?? floor) : floor };
}

/** The jobs that bound a page, as the index has them. */
export type Cursors = { before?: JobRow | undefined; after?: JobRow | undefined };

/**
 * Own jobs among which a page's can be. An indexed cursor bounds them by the time of its lock; ids, which are older than their locks by less
 * than MINED_WITHIN_MS, only keep the walk short. One that the index does not have bounds them by its id.
 */
export function rangeOf({ before, after }: JobQuery, cursors: Cursors): JobRange {
  const range: JobRange = {};
  if (cursors.before !== undefined) {
    range.lockedUntil = cursors.before.createdAt;
    range.idBelow = idFrom(cursors.before.id, MINED_WITHIN_MS);
  } else if (before !== undefined) range.idBelow = before;
  if (cursors.after !== undefined) {
    range.lockedFrom = cursors.after.createdAt;
    range.idAbove = idFrom(cursors.after.id, -MINED_WITHIN_MS);
  } else if (after !== undefined) range.idAbove = after;
  return range;
}

/** The beginning of ids that are made so many milliseconds after this one. */
function idFrom(id: string, ms: number): string {
  const [prefix, time] = [id.slice(0, 4), id.slice(4, 16)];
  return `${prefix}${Math.max(0, Number.parseInt(time, 16) + ms)
    .toString(16)
    .padStart(12, "0")}`;
}
