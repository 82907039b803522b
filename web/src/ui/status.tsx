import type { JobState } from "../../../protocol/job-status.ts";
import type { Tier } from "../../../protocol/tiers.ts";

type Tone = "good" | "bad" | "wait" | "mild";

const JOB_TONES: Record<JobState, Tone> = {
  pending: "wait",
  processing: "wait",
  settling: "wait",
  settled: "good",
  failed: "bad",
  refunded: "mild",
  disputed: "bad",
};

/** A state as a word with a mark; never by colour alone. */
export function Badge({ tone, children }: { tone: Tone; children: string }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}

export const JobBadge = ({ status }: { status: JobState }) => <Badge tone={JOB_TONES[status]}>{status}</Badge>;

export const TierBadge = ({ tier }: { tier: Tier }) => <span className={`tier ${tier}`}>{tier}</span>;
