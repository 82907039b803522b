import type { Worker } from "../../../contract.ts";
import { Badge } from "../../ui/status.tsx";

/** The worker's state, as the chain and this gateway know it; of several, the gravest. */
export function WorkerState({ worker }: { worker: Worker }) {
  if (worker.unbonds_at !== null) return <Badge tone="mild">unbonding</Badge>;
  if (!worker.active) return <Badge tone="bad">low stake</Badge>;
  return worker.answers ? <Badge tone="good">active</Badge> : <Badge tone="bad">does not answer</Badge>;
}

/** The roles that a wallet has at a worker. */
export const rolesOf = ({ owner, payout }: Worker, wallet: string | undefined): string[] => [
  ...(owner === wallet ? ["owner"] : []),
  ...(payout === wallet ? ["paid"] : []),
];
