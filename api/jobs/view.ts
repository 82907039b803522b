import { toProofHash } from "../../protocol/answer-hash.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { JobState } from "../../protocol/job-status.ts";
import { usdgValue } from "../../protocol/money.ts";
import { showAddress } from "../http/request.ts";
import type { JobRow } from "../index/index.ts";
import type { StoredJob } from "../store/stored-job.ts";

/** The Job resource of the specification. Every key is always there; null where it is not known yet. */
export type JobObject = {
  id: string;
  object: "job";
  status: JobState;
  model: string;
  tier: string;
  credits_charged: number;
  usdg_value: number;
  worker_address: string | null;
  created_at: string;
  completed_at: string | null;
  on_chain: {
    escrow_tx: string | null;
    settlement_tx: string | null;
    escrow_address: string;
    block_number: number | null;
    proof_hash: string | null;
  };
  usage: { prompt_tokens: number | null; completion_tokens: number | null; total_tokens: number | null };
};

/** How far a state is along a job's way: the further one of two sources is the newer one. */
const PROGRESS: Record<JobState, number> = {
  pending: 0,
  processing: 1,
  settling: 2,
  settled: 3,
  failed: 3,
  refunded: 3,
  disputed: 4,
};

/**
 * One job from the index, the gateway's own row, or both. What the chain says of an ended job stands; until the index has
 * it, the row tells what this service has done itself: a client reads its own writes, `settling` included.
 */
export function jobObject(row: JobRow | null, stored: StoredJob | null, escrow: string): JobObject | null {
  const storedStatus = visible(stored);
  // Our own dispute, mined a moment ago; once the index has seen it, it also knows how it went on.
  const disputed = stored?.disputeTx && !row?.disputeTx;
  const status = disputed ? "disputed" : newer(row?.status ?? null, storedStatus);
  if (status === null) return null;
  const credits = cost(status, row, stored);
  const completion = stored?.completion?.completion;
  const prompt = row?.promptTokens ?? completion?.promptTokens ?? null;
  const output = row?.billedTokens ?? billed(stored);
  const proofHash = row?.proofHash ?? completion?.proofHash ?? null;
  const worker = row?.worker ?? stored?.worker ?? null;
  const createdAt = row?.createdAt ?? stored?.lockedAt ?? 0;
  const completedAt = row?.completedAt ?? stored?.settledAt ?? null;
  return {
    id: row?.id ?? toApiJobId((stored as StoredJob).jobId),
    object: "job",
    status,
    model: row?.model ?? (stored as StoredJob).model,
    tier: row?.tier ?? (stored as StoredJob).tier,
    credits_charged: credits,
    usdg_value: usdgValue(credits),
    worker_address: worker === null ? null : showAddress(worker),
    created_at: isoTime(createdAt),
    completed_at: completedAt === null ? null : isoTime(completedAt),
    on_chain: {
      escrow_tx: row?.escrowTx ?? stored?.escrowTx ?? null,
      settlement_tx: row?.settlementTx ?? stored?.settlementTx ?? null,
      escrow_address: showAddress(escrow),
      block_number: row?.settlementBlock ?? stored?.settlementBlock ?? null,
      proof_hash: proofHash === null ? null : toProofHash(proofHash),
    },
    usage: {
      prompt_tokens: prompt,
      completion_tokens: output,
      total_tokens: prompt === null || output === null ? null : prompt + output,
    },
  };
}

/**
 * What the job costs its client: the charge of its settlement, less the whole credits that a dispute brought back. Nothing is
 * charged before the settlement, so an answer that was disputed before it costs nothing yet.
 */
function cost(status: JobState, row: JobRow | null, stored: StoredJob | null): number {
  if (row?.settlementTx) return row.creditsCharged - row.creditsCompensated;
  const settled = status === "settled" || status === "disputed";
  return settled && stored?.state === "settled" ? (stored.creditsCharged ?? 0) : 0;
}

/** Unix seconds → ISO 8601 UTC. */
export function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

/** The gateway's own states are not a client's: a job exists from its mined lock on. */
function visible(stored: StoredJob | null): JobState | null {
  if (stored === null || stored.escrowTx === null || stored.state === "locking" || stored.state === "unlocked")
    return null;
  return stored.state;
}

function newer(indexed: JobState | null, stored: JobState | null): JobState | null {
  if (indexed === null || stored === null) return indexed ?? stored;
  // Both ended: the index has the chain's last word (a dispute, a ruling).
  if (PROGRESS[indexed] >= 3) return indexed;
  return PROGRESS[stored] > PROGRESS[indexed] ? stored : indexed;
}

function billed(stored: StoredJob | null): number | null {
  const signed = stored?.completion?.completion.completionTokens;
  if (signed === undefined) return null;
  return Math.min(signed, stored?.countedTokens ?? signed);
}
