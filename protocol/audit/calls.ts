/** What a transaction asked the escrow to do: its calls, with the items of batches unfolded. Pure. */
import { type Address, type DecodeFunctionDataReturnType, decodeFunctionData, type Hex, isAddressEqual } from "viem";
import { inferenceEscrowAbi } from "../generated/abi.ts";
import { type AnyEvent, eventsOf } from "./event-log.ts";

/** What an audit needs of a transaction. */
export type AuditTransaction = { hash: Hex; from: Address; to: Address | null; input: Hex; block: bigint };

export type EscrowCall = DecodeFunctionDataReturnType<typeof inferenceEscrowAbi> & {
  /** Position in the batch; null for a direct call. */
  item: number | null;
  /** False when the batch reported the item as reverted. */
  succeeded: boolean;
};

type CallName = EscrowCall["functionName"];
export type CallOf<N extends CallName> = Extract<EscrowCall, { functionName: N }>;

/**
 * The escrow's calls in a mined, successful transaction. `execute(bytes[])` is unfolded; items that are no calls of the escrow are left
 * out. Empty when the transaction was sent to another contract, which may have called the escrow: calldata then says nothing.
 *
 * @param logs Events of the same transaction: they name the items that reverted.
 */
export function escrowCalls(transaction: AuditTransaction, escrow: Address, logs: readonly AnyEvent[]): EscrowCall[] {
  const { to, input } = transaction;
  if (to === null || !isAddressEqual(to, escrow)) return [];
  const outer = decode(input);
  if (outer === null) return [];
  if (outer.functionName !== "execute") return [{ ...outer, item: null, succeeded: true }];
  const failed = new Set(eventsOf(logs, "escrow", "BatchItemFailed").map(({ args }) => Number(args.index)));
  return outer.args[0].flatMap((data, item) => {
    const call = decode(data);
    return call === null ? [] : [{ ...call, item, succeeded: !failed.has(item) }];
  });
}

/** The escrow's calls in one of the evidence's transactions. */
export function callsIn({ transactions, events, addresses }: CallEvidence, tx: Hex): EscrowCall[] {
  const transaction = transactions.get(tx);
  if (transaction === undefined) return [];
  return escrowCalls(
    transaction,
    addresses.escrow,
    events.filter((event) => event.tx === tx),
  );
}
type CallEvidence = {
  transactions: ReadonlyMap<Hex, AuditTransaction>;
  events: readonly AnyEvent[];
  addresses: { escrow: Address };
};

/** Who called the escrow in a transaction; null when another contract did, on somebody's behalf. */
export function callerOf({ transactions, addresses }: Omit<CallEvidence, "events">, tx: Hex): Address | null {
  const transaction = transactions.get(tx);
  if (!transaction?.to || !isAddressEqual(transaction.to, addresses.escrow)) return null;
  return transaction.from;
}

/** The successful calls of one function. */
export function callsOf<N extends CallName>(calls: readonly EscrowCall[], name: N): CallOf<N>[] {
  return calls.filter((call) => call.succeeded && call.functionName === name) as CallOf<N>[];
}

function decode(data: Hex): DecodeFunctionDataReturnType<typeof inferenceEscrowAbi> | null {
  try {
    return decodeFunctionData({ abi: inferenceEscrowAbi, data });
  } catch {
    // A selector that the escrow does not have, or arguments cut short: such an item reverted and did nothing.
    return null;
  }
}
