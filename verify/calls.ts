/** Reads the calls of the escrow in a transaction, and who signed for them. Pure. */
import {
  type AbiFunction,
  type Address,
  type DecodeFunctionDataReturnType,
  decodeAbiParameters,
  type Hex,
  hashTypedData,
  isAddressEqual,
  recoverAddress,
  serializeSignature,
  slice,
  toFunctionSelector,
} from "viem";
import { type Delivery, deliveryBehind, deliveryTypes } from "../protocol/delivery.ts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import {
  type Acknowledgement,
  type Assignment,
  type Authorization,
  authorizationTypes,
  type Completion,
  type DisputeRequest,
  disputeRequestTypes,
  escrowDomain,
  jobMessageTypes,
} from "../protocol/messages.ts";
import { type AnyEvent, eventsOf } from "./events.ts";

/** The fields of a transaction that an audit needs. */
export type AuditTransaction = { hash: Hex; from: Address; to: Address | null; input: Hex; block: bigint };

/** `data`: the call as it was sent, with any bytes behind its arguments. */
type EscrowCall = DecodeFunctionDataReturnType<typeof inferenceEscrowAbi> & { data: Hex };
type CallName = EscrowCall["functionName"];
export type CallOf<N extends CallName> = Extract<EscrowCall, { functionName: N }>;

type CallEvidence = {
  jobId: Hex;
  transactions: ReadonlyMap<Hex, AuditTransaction>;
  events: readonly AnyEvent[];
  addresses: { escrow: Address };
};

/**
 * The calls of one function about the job that a transaction made. `execute(bytes[])` is unfolded; items that reverted are left out. Empty
 * when the transaction was sent to another contract, which may have called the escrow: calldata then says nothing.
 */
export function jobCalls<N extends CallName>(evidence: CallEvidence, tx: Hex, name: N): CallOf<N>[] {
  const caller = callerOf(evidence, tx);
  const outer = caller === null ? null : decode(evidence.transactions.get(tx)?.input ?? "0x");
  if (outer === null) return [];
  // Most items of a batch are of other jobs: they need not be decoded.
  const own = evidence.jobId.slice(2);
  const logs = evidence.events.filter((event) => event.tx === tx);
  const failed = new Set(eventsOf(logs, "escrow", "BatchItemFailed").map(({ args }) => Number(args.index)));
  const calls =
    outer.functionName !== "execute"
      ? [outer]
      : outer.args[0].map((data, item) => (failed.has(item) || !data.includes(own) ? null : decode(data)));
  // A call names its job by the id, or in a message or an authorization.
  const isOwn = (arg: unknown) =>
    String(typeof arg === "object" ? (arg as { jobId?: Hex }).jobId : arg).toLowerCase() === evidence.jobId;
  return calls.filter((call) => call?.functionName === name && (call.args ?? []).some(isOwn)) as CallOf<N>[];
}

/** The address that called the escrow in a transaction; null if another contract did, on somebody's behalf. */
export function callerOf({ transactions, addresses }: CallEvidence, tx: Hex): Address | null {
  const transaction = transactions.get(tx);
  return transaction?.to && isAddressEqual(transaction.to, addresses.escrow) ? transaction.from : null;
}

// viem finds a function by hashing every one of the ABI on each call.
const functions = new Map<Hex, AbiFunction>(
  inferenceEscrowAbi.flatMap((item) => (item.type === "function" ? [[toFunctionSelector(item), item]] : [])),
);

function decode(data: Hex): EscrowCall | null {
  try {
    const item = functions.get(slice(data, 0, 4));
    if (item === undefined) return null;
    const args = item.inputs.length === 0 ? undefined : decodeAbiParameters(item.inputs, slice(data, 4));
    return { functionName: item.name, args, data } as EscrowCall;
  } catch {
    // A selector that the escrow does not have, or arguments cut short: such an item reverted and did nothing.
    return null;
  }
}

/** The statement of the operator that opened a dispute about what it sent to the client, and its signer; null without such a statement. */
export async function deliveryIn(
  evidence: CallEvidence & { chainId: number },
  tx: Hex,
): Promise<{ delivery: Delivery; signer: Address | null } | null> {
  const [call] = jobCalls(evidence, tx, "openDispute");
  const signed = call === undefined ? null : deliveryBehind(call.data, evidence.jobId);
  if (signed === null) return null;
  const { signature, ...delivery } = signed;
  return { delivery, signer: await signerOf(evidence, "Delivery", delivery, signature) };
}

type Messages = {
  Assignment: Assignment;
  Acknowledgement: Acknowledgement;
  Completion: Completion;
  Authorization: Authorization;
  DisputeRequest: DisputeRequest;
  Delivery: Delivery;
};
/** A compact signature (EIP-2098). */
export type CompactSignature = { r: Hex; vs: Hex };

const TYPES = { ...jobMessageTypes, ...authorizationTypes, ...disputeRequestTypes, ...deliveryTypes };
/** Half the order of secp256k1: the contract refuses a signature above it. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** Signer of a message of the escrow; null for a signature that the contract would refuse (high s, or no key at all). */
export async function signerOf<Name extends keyof Messages>(
  { chainId, addresses }: { chainId: number; addresses: { escrow: Address } },
  primaryType: Name,
  message: Messages[Name],
  { r, vs }: CompactSignature,
): Promise<Address | null> {
  const packed = BigInt(vs);
  const s = packed & ((1n << 255n) - 1n);
  if (s > HALF_ORDER) return null;
  const yParity = Number(packed >> 255n);
  try {
    const signature = serializeSignature({ r, s: `0x${s.toString(16).padStart(64, "0")}`, yParity });
    const typed = { domain: escrowDomain(chainId, addresses.escrow), types: TYPES, primaryType, message };
    return await recoverAddress({ hash: hashTypedData(typed as Parameters<typeof hashTypedData>[0]), signature });
  } catch {
    // r or s is no point of the curve.
    return null;
  }
}

/** True if this address signed; `signer` is null if the signature is invalid. */
export const isSigner = (signer: Address | null, address: Address): boolean =>
  signer !== null && isAddressEqual(signer, address);
