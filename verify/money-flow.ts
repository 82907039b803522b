/** The money flow of a transaction: who gave what to whom, and why. Pure; for drawing. */
import { type Address, type Hex, isAddressEqual } from "viem";
import { type AnyEvent, type AuditAddresses, eventsOf, isEvent } from "./events.ts";

/** A place where money can be. `free` and `escrow` are the two parts of a wallet's balance in the ledger; `address` is a token holder. */
export type Place =
  | { kind: "free"; wallet: Address }
  | { kind: "escrow"; wallet: Address; jobId: Hex | null }
  | { kind: "address"; address: Address; name: string | null };

export type Flow = {
  from: Place;
  to: Place;
  /** Whole credits for `credits`; base units for tokens. */
  amount: bigint;
  unit: "credits" | "stablecoin units" | "SVC base units";
  why: string;
  jobId: Hex | null;
  logIndex: number;
};

/**
 * All movements of credits in the ledger and of tokens, in the order of the logs. Nothing of amount zero.
 * @param known Events among which the locks of settled jobs are looked for: what comes back is what they held less the charge.
 *
 * @example
 * const { events } = await reader.job(jobId, null);
 * for (const { amount, unit, why } of moneyFlow(events, reader.addresses)) console.log(amount, unit, why);
 */
export function moneyFlow(
  logs: readonly AnyEvent[],
  addresses: AuditAddresses,
  known: readonly AnyEvent[] = logs,
): Flow[] {
  const locked = new Map(eventsOf(known, "escrow", "JobLocked").map(({ args }) => [args.jobId, args.credits]));
  const flows = logs.flatMap((event) => [...ledgerFlows(event, addresses, locked), ...tokenFlows(event, addresses)]);
  return flows.filter(({ amount }) => amount > 0n);
}

function ledgerFlows(event: AnyEvent, addresses: AuditAddresses, locked: ReadonlyMap<Hex, number>): Flow[] {
  const { logIndex } = event;
  const ledger = holder(addresses.escrow, addresses);
  const flow = (from: Place, to: Place, credits: number, why: string, jobId: Hex | null = null): Flow => ({
    from,
    to,
    amount: BigInt(credits),
    unit: "credits",
    why,
    jobId,
    logIndex,
  });
  const free = (wallet: Address): Place => ({ kind: "free", wallet });
  const escrow = (wallet: Address, jobId: Hex): Place => ({ kind: "escrow", wallet, jobId });
  if (isEvent(event, "escrow", "Deposited"))
    return [flow(ledger, free(event.args.wallet), event.args.credits, "bought")];
  if (isEvent(event, "escrow", "Withdrawn"))
    return [flow(free(event.args.wallet), ledger, event.args.credits, "withdrawn")];
  if (isEvent(event, "escrow", "JobLocked")) {
    const { wallet, jobId, credits } = event.args;
    return [flow(free(wallet), escrow(wallet, jobId), credits, "locked for the job", jobId)];
  }
  if (isEvent(event, "escrow", "JobFailed", "JobRefunded")) {
    const { wallet, jobId, credits } = event.args;
    return [flow(escrow(wallet, jobId), free(wallet), credits, "returned: no answer", jobId)];
  }
  if (isEvent(event, "escrow", "JobSettled")) {
    const { wallet, jobId, credits } = event.args;
    const returned = (locked.get(jobId) ?? credits) - credits;
    return [
      flow(escrow(wallet, jobId), ledger, credits, "charged", jobId),
      flow(escrow(wallet, jobId), free(wallet), returned, "returned: cheaper than the lock", jobId),
    ];
  }
  if (isEvent(event, "escrow", "JobDisputed")) {
    const { wallet, jobId, byOperator } = event.args;
    // An operator's bond stays in its reserve.
    const bond = byOperator ? 0 : event.args.bond;
    return [flow(free(wallet), escrow(wallet, jobId), bond, "bond of the dispute", jobId)];
  }
  if (isEvent(event, "escrow", "DisputeResolved")) {
    const { wallet, jobId, returned } = event.args;
    return [flow(escrow(wallet, jobId), free(wallet), returned, "returned after the dispute", jobId)];
  }
  if (isEvent(event, "escrow", "OperatorCharged")) {
    const { wallet, jobId, payee, credits } = event.args;
    const back = isAddressEqual(wallet, payee) ? credits : 0;
    return [flow(ledger, free(wallet), back, "paid from the operator's reserve", jobId)];
  }
  if (isEvent(event, "escrow", "Compensated")) {
    const { wallet, jobId, payee, paid } = event.args;
    const credits = isAddressEqual(wallet, payee) ? Number(paid / 10_000n) : 0;
    return [flow(ledger, free(wallet), credits, "compensated by the treasury", jobId)];
  }
  return [];
}

function tokenFlows(event: AnyEvent, addresses: AuditAddresses): Flow[] {
  if (!isEvent(event, "stablecoin", "Transfer") && !isEvent(event, "serviceToken", "Transfer")) return [];
  const { from, to, value } = event.args as { from: Address; to: Address; value: bigint };
  return [
    {
      from: holder(from, addresses),
      to: holder(to, addresses),
      amount: value,
      unit: event.contract === "stablecoin" ? "stablecoin units" : "SVC base units",
      why: "transferred",
      jobId: null,
      logIndex: event.logIndex,
    },
  ];
}

/** A token holder, by the name of its contract if it is one of ours. */
function holder(address: Address, addresses: AuditAddresses): Place {
  const names = Object.entries(addresses) as [string, Address | readonly Address[]][];
  const name = names.find(([, at]) => [at].flat().some((one) => isAddressEqual(one, address)))?.[0] ?? null;
  return { kind: "address", address, name };
}
