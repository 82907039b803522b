/** Outcomes of a dispute by their number on chain (`Ruling`). */
export const Ruling = { None: 0, WorkerAtFault: 1, GatewayAtFault: 2, Rejected: 3 } as const;

/** How the index and webhooks name the end of a dispute; `expired` is the end without a ruling. */
export const RULINGS = ["expired", "worker_at_fault", "gateway_at_fault", "rejected"] as const;
export type RulingName = (typeof RULINGS)[number];

/** Number on chain → name. */
export function rulingName(ruling: number): RulingName {
  const name = RULINGS[ruling];
  if (name === undefined)
    throw new RangeError(`unknown ruling ${ruling}: protocol/ruling.ts is older than the contracts`);
  return name;
}
