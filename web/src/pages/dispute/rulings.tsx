import type { RulingName } from "../../../../protocol/job-status.ts";
import type { ListedDispute, Vote } from "../../../contract.ts";
import { credits } from "../../ui/format.ts";
import { Badge } from "../../ui/status.tsx";

export const VOTES: readonly Vote[] = ["worker_at_fault", "gateway_at_fault", "rejected"];

export const RULINGS: Record<RulingName, string> = {
  worker_at_fault: "Worker at fault",
  gateway_at_fault: "Gateway at fault",
  rejected: "Rejected",
  expired: "Expired without a ruling",
};

export const RulingBadge = ({ ruling }: { ruling: RulingName }) => (
  <Badge tone={ruling === "rejected" ? "good" : ruling === "expired" ? "mild" : "bad"}>{RULINGS[ruling]}</Badge>
);

/** The consequence of each end of a dispute (`DisputeLogic.sol` has the table). */
export function consequence(
  ruling: RulingName,
  { from_proven, opened_by, bond }: Pick<ListedDispute, "from_proven" | "opened_by" | "bond">,
): string {
  const lost = opened_by === "wallet" && bond > 0 ? ` The client loses its bond of ${credits(bond)}.` : "";
  if (from_proven) {
    const worker =
      opened_by === "operator"
        ? "is paid, and gets the operator's bond unless the client said that it has the text."
        : "is paid.";
    return {
      worker_at_fault: "The client gets its credits back, and the worker loses stake.",
      gateway_at_fault:
        "The client gets its credits back. The worker is paid by the operator's reserve, up to 100 credits; the treasury pays the rest.",
      rejected: `The job can be finalized: the worker ${worker}${lost}`,
      expired: "The client gets its credits back, and the worker is not paid.",
    }[ruling];
  }
  return {
    worker_at_fault:
      "The worker loses stake, and the client gets the charge back. If too little stake was left, it gets the protocol fee back.",
    gateway_at_fault: "The client gets the charge back from the operator's reserve; the treasury pays the rest.",
    rejected: `The charge stands.${lost}`,
    expired: "The charge stands, and the client gets the protocol fee back.",
  }[ruling];
}
