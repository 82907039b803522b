/** What all handlers share: where an event stands on the chain, and its row in protocol_event. */
import type { Context } from "ponder:registry";
import { protocolEvent } from "ponder:schema";
import type { Address, Hex } from "viem";
import { chainPosition } from "../../protocol/index-schema.ts";
import { jsonSafe, snakeCaseKeys } from "./json.ts";

export type ChainEvent = {
  args: object;
  block: { number: bigint; timestamp: bigint };
  transaction: { hash: Hex };
  log: { logIndex: number };
};

/** Where an event was mined. */
export function place(event: ChainEvent) {
  return {
    blockNumber: Number(event.block.number),
    position: chainPosition(event.block.number, event.log.logIndex),
    blockTime: Number(event.block.timestamp),
    txHash: event.transaction.hash,
  };
}

export type EventRecord = {
  kind: string;
  /** What the event is about: job id, wallet, signer, operator or model number, contract name. */
  subject: string | number;
  /** What tells events of one kind and subject apart: sequence, attempt, who voted how often. */
  ordinal?: number | string;
  wallet?: Address;
  jobId?: Hex;
  worker?: Address | null;
  /** Arguments to be kept, if not as they are: packed words unpacked. */
  args?: object;
  /** Values that a reader would otherwise have to look up; they override arguments of the same name. */
  derived?: Record<string, unknown>;
};

/**
 * The identity of an event: the same after its transaction was mined again elsewhere and after a re-index. Therefore
 * nothing of where it was mined may go in here: no hash, no log index, no time.
 */
function eventKey(context: Context, { subject, kind, ordinal }: EventRecord): string {
  const escrow = (context.contracts.InferenceEscrow.address as Address).toLowerCase();
  const key = `${context.chain.id}:${escrow}:${subject}:${kind}`;
  return ordinal === undefined ? key : `${key}:${ordinal}`;
}

/** Appends an event to protocol_event: all its arguments, and what is derived. Returns its key. */
export async function record(context: Context, event: ChainEvent, about: EventRecord): Promise<string> {
  const key = eventKey(context, about);
  await context.db.insert(protocolEvent).values({
    key,
    kind: about.kind,
    subject: String(about.subject),
    wallet: about.wallet ?? null,
    jobId: about.jobId ?? null,
    worker: about.worker ?? null,
    ...place(event),
    data: jsonSafe({ ...snakeCaseKeys(about.args ?? event.args), ...about.derived }),
  });
  return key;
}
