import type { Worker } from "../../../contract.ts";
import { Badge } from "../../ui/status.tsx";

/** What the chain and this gateway say of it, the graver first. */
export function WorkerState({ worker }: { worker: Worker }) {
  if (worker.unbonds_at !== null) return <Badge tone="mild">unbonding</Badge>;
  if (!worker.active) return <Badge tone="bad">low stake</Badge>;
  return worker.answers ? <Badge tone="good">active</Badge> : <Badge tone="bad">does not answer</Badge>;
}

/** What a wallet is to a worker. */
export const rolesOf = ({ owner, payout }: Worker, wallet: string | undefined): string[] => [
  ...(owner === wallet ? ["owner"] : []),
  ...(payout === wallet ? ["paid"] : []),
];
