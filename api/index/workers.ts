import { columns, type Reader, read, view } from "./query.ts";
import type { WorkerRow } from "./rows.ts";

/** Whether worker `w` may take a job at time $1: as the registry decides it, announced terms included once their time has come. */
export const ACTIVE = `w.unbonds_at IS NULL AND w.stake >= (
  SELECT CASE WHEN stake_terms_change_at <= $1 THEN next_minimum_stake ELSE minimum_stake END
  FROM ${view("protocol_config")})`;
/** A time as $1 takes it. */
export const seconds = (now: Date): number => Math.floor(now.getTime() / 1000);

const COLUMNS = columns<WorkerRow>({
  signer: "w.signer",
  number: "w.number",
  owner: "w.owner",
  payout: "w.payout",
  endpoint: "w.endpoint",
  stake: "w.stake::text",
  unbondsAt: "w.unbonds_at",
  active: `(${ACTIVE})`,
  models: `ARRAY(SELECT h.model FROM ${view("hosting")} h WHERE h.worker = w.signer ORDER BY h.model)`,
  registeredAt: "w.registered_at",
});

const SELECT = `SELECT ${COLUMNS} FROM ${view("worker")} w`;
type Raw = Omit<WorkerRow, "stake"> & { stake: string };
const parse = (row: Raw): WorkerRow => ({ ...row, stake: BigInt(row.stake) });

/** All workers ever registered, by id. */
export async function listWorkers(reader: Reader, now: Date = new Date()): Promise<WorkerRow[]> {
  return (await read<Raw>(reader, "workers", `${SELECT} ORDER BY w.number`, [seconds(now)])).map(parse);
}

/** One worker by its signing key; null if it is unknown. */
export async function getWorker(reader: Reader, signer: string, now: Date = new Date()): Promise<WorkerRow | null> {
  const rows = await read<Raw>(reader, "worker", `${SELECT} WHERE w.signer = $2`, [seconds(now), signer.toLowerCase()]);
  return rows[0] === undefined ? null : parse(rows[0]);
}
