/** Jobs of one model at workers whose course a test tells by a clock of its own. */
import { bestOf, WorkerHealth } from "../../../api/workers/worker-health.ts";

export const MODEL_NUMBER = 1;
export const SIZE = { promptCharacters: 100, maxTokens: 10_000 };

/**
 * How a job goes, ms. `tokens` are written within `writingMs`. A job that costs its client `lostMs` is not answered; it ends after its tokens, or where
 * it has none when the first would come.
 */
export type Course = { firstMs: number; tokens?: number; writingMs?: number; lostMs?: number };

/**
 * A job that begins now and goes so; `at` tells its course up to a moment, and ends it when it is over. `hosts`: all workers of the model.
 */
export function beginJob(
  health: WorkerHealth,
  { firstMs, lostMs, tokens = lostMs === undefined ? 100 : 0, writingMs = 0 }: Course,
  begun: number,
  hosts: readonly WorkerHealth[] = [health],
) {
  const job = health.begin(MODEL_NUMBER, SIZE, begun);
  job.mined(begun);
  const endsAt = begun + firstMs + writingMs;
  let written = 0;
  let isOver = false;
  const at = (now: number): void => {
    if (isOver) return;
    for (; written < tokens; written++) {
      const due = begun + firstMs + (tokens === 1 ? 0 : (writingMs * written) / (tokens - 1));
      if (due > now) return;
      if (written === 0) job.firstToken(due);
      job.wrote(4, due);
    }
    if (now < endsAt) return;
    isOver = true;
    const best = bestOf(MODEL_NUMBER, hosts);
    if (lostMs === undefined) job.answered(best, endsAt);
    else job.lost(lostMs, best, endsAt);
    job.end(endsAt);
  };
  return { at, isOver: () => isOver };
}

/** A job that is over at `end`. */
export function runJobAt(health: WorkerHealth, course: Course, end: number): void {
  beginJob(health, course, end - course.firstMs - (course.writingMs ?? 0)).at(end);
}

/** A worker that answered so many jobs so, one after the other, the last one at `end`. */
export function workerWith(course: Course, end: number, jobs = 10): WorkerHealth {
  const health = new WorkerHealth();
  health.healthy = true;
  for (let n = jobs - 1; n >= 0; n--) runJobAt(health, course, end - n * 1_000);
  return health;
}
