/** Reads the evidence of a dispute from the chain: who named which hash, and whether the signatures are good. */
import { type Address, type Hex, isAddressEqual } from "viem";
import { fromApiJobId } from "../../../../protocol/job-id.ts";
import type { Completion } from "../../../../protocol/messages.ts";
import { deliveryIn, jobCalls, signerOf } from "../../../../verify/calls.ts";
import { type AnyEvent, eventsOf, jobOfEvent } from "../../../../verify/events.ts";
import type { ChainTransaction, Dispute, Operator } from "../../../contract.ts";
import { disputeFacts } from "../../explorer/dispute-facts.ts";

export type Evidence = {
  /** The whole call that opened the dispute; null where another contract made it. */
  calldata: Hex | null;
  /** `signer`: null where the contract had the proof on record, so that no signature was needed. */
  completion: (Completion & { signer: Address | null; valid: boolean }) | null;
  /**
   * The gateway's signed statement of what it sent. `inOffice`: its key signed for the job's operator then; null while the operator's keys
   * are not known.
   */
  delivery: { sentHash: Hex; complete: boolean; signer: Address | null; inOffice: boolean | null } | null;
  /** The worker was shown to have signed two answers. */
  convicted: boolean;
};

/** `events`: all of the transactions that concern the job, those of other jobs among them. */
type Known = {
  dispute: Dispute;
  events: readonly AnyEvent[];
  opened: ChainTransaction;
  operator: Operator | undefined;
};

export async function readEvidence(
  { dispute, events, opened, operator }: Known,
  deployment: { chainId: number; escrow: Address },
): Promise<Evidence> {
  const { hash, from, to, input, block_number } = opened;
  const jobId = fromApiJobId(dispute.job_id) as Hex;
  const own = events.filter((event) => jobOfEvent(event) === jobId);
  const place = {
    jobId,
    chainId: deployment.chainId,
    addresses: { escrow: deployment.escrow },
    transactions: new Map([[hash, { hash, from, to, input: input ?? "0x", block: BigInt(block_number ?? 0) }]]),
    events,
  };
  const [call] = jobCalls(place, hash, "openDispute");
  const [stated, completion] = await Promise.all([
    dispute.opened_by === "operator" ? deliveryIn(place, hash) : null,
    completionOf(
      dispute,
      { ...place, events: own },
      call === undefined ? disputeFacts(own).signed : signedIn(call.args),
    ),
  ]);
  return {
    calldata: call?.data ?? null,
    completion,
    delivery: stated && {
      ...stated.delivery,
      signer: stated.signer,
      inOffice: inOffice(stated.signer, dispute, operator),
    },
    convicted: eventsOf(own, "escrow", "WorkerEquivocated").length > 0,
  };
}

type Signed = NonNullable<ReturnType<typeof disputeFacts>["signed"]>;

const signedIn = ([, completion, signature]: readonly [Hex, Completion, Signed["signature"]]): Signed => ({
  completion,
  signature,
});

async function completionOf(
  { worker }: Dispute,
  place: { chainId: number; addresses: { escrow: Address }; events: readonly AnyEvent[] },
  signed: Signed | null,
): Promise<Evidence["completion"]> {
  if (signed === null) return null;
  const { completion, signature } = signed;
  // The worker proved it before: the contract compared it with that, and looked at no signature.
  const isOnRecord = eventsOf(place.events, "escrow", "JobProven").some(
    ({ args }) => args.proofHash === completion.proofHash,
  );
  if (isOnRecord) return { ...completion, signer: null, valid: true };
  const signer = await signerOf(place, "Completion", completion, signature);
  return { ...completion, signer, valid: signer !== null && isAddressEqual(signer, worker) };
}

function inOffice(signer: Address | null, { opened_at }: Dispute, operator: Operator | undefined): boolean | null {
  if (operator === undefined) return null;
  return operator.signers.some(
    ({ address, added_at, removed_at }) =>
      signer !== null &&
      isAddressEqual(address, signer) &&
      added_at <= opened_at &&
      (removed_at === null || removed_at > opened_at),
  );
}
