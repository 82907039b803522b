import { columns, type Reader, read, view } from "./query.ts";
import type { ModelRow } from "./rows.ts";
import { ACTIVE, seconds } from "./workers.ts";

// Announced prices and retirements take effect by time, without an event: what is in force is decided when it is read.
const COLUMNS = columns<ModelRow>({
  number: "m.number",
  id: "m.id",
  parameters: "m.parameters",
  ownedBy: "m.owned_by",
  tier: "m.tier",
  contextWindow: "m.context_window",
  creditsPerRequest:
    "CASE WHEN m.prices_change_at <= $1 THEN m.next_credits_per_request ELSE m.credits_per_request END",
  creditsPer1kTokens:
    "CASE WHEN m.prices_change_at <= $1 THEN m.next_credits_per_thousand_tokens ELSE m.credits_per_thousand_tokens END",
  nextCreditsPerRequest: "CASE WHEN m.prices_change_at > $1 THEN m.next_credits_per_request END",
  nextCreditsPer1kTokens: "CASE WHEN m.prices_change_at > $1 THEN m.next_credits_per_thousand_tokens END",
  pricesChangeAt: "CASE WHEN m.prices_change_at > $1 THEN m.prices_change_at END",
  createdAt: "m.created_at",
  retiresAt: "m.retires_at",
  retired: "COALESCE(m.retires_at <= $1, false)",
  activeWorkers: `(SELECT count(*) FROM ${view("hosting")} h JOIN ${view("worker")} w ON w.signer = h.worker
    WHERE h.model = m.number AND ${ACTIVE})`,
});

const SELECT = `SELECT ${COLUMNS} FROM ${view("model")} m`;

/** All models ever listed, by catalog number; callers choose by `retired` and `activeWorkers`. */
export async function listModels(reader: Reader, now: Date = new Date()): Promise<ModelRow[]> {
  return await read<ModelRow>(reader, "models", `${SELECT} ORDER BY m.number`, [seconds(now)]);
}

/** One model by its public id; null if there is none. */
export async function getModel(reader: Reader, id: string, now: Date = new Date()): Promise<ModelRow | null> {
  const rows = await read<ModelRow>(reader, "model", `${SELECT} WHERE m.id = $2`, [seconds(now), id]);
  return rows[0] ?? null;
}
