import type { WorkerHealth } from "./worker-health.ts";

/** Before anything was observed, all are taken for equally fast. */
const ASSUMED_FIRST_TOKEN_MS = 100;
/**
 * Scores this share apart are as good as equal. Without it one worker would get all the work of a quiet hour because it was a millisecond faster
 * the last time; a newcomer would never be asked, nor one that was slow once.
 */
const AS_GOOD = 0.5;

export type Candidate<W> = { worker: W; health: WorkerHealth };

/** The candidate with the least outstanding work, weighted by how fast it was lately; chance decides among about equal ones. */
export function chooseBest<W>(
  candidates: readonly Candidate<W>[],
  now: number,
  random: () => number = Math.random,
): W | undefined {
  const withRoom = candidates.filter(({ health }) => !health.isFull(now));
  const observed = candidates.flatMap(({ health }) => health.firstTokenMs ?? []);
  const fastest = observed.length > 0 ? Math.min(...observed) : ASSUMED_FIRST_TOKEN_MS;
  let best: W | undefined;
  let bestScore = Number.POSITIVE_INFINITY;
  // With every one full, the one that clears first queues the job or says no.
  for (const { worker, health } of withRoom.length > 0 ? withRoom : candidates) {
    const score = health.score(fastest, now) * (1 + random() * AS_GOOD);
    if (score < bestScore) [best, bestScore] = [worker, score];
  }
  return best;
}
