/** Signs messages to workers with the key of the gateway's operator: the offer of a job, and requests for an answer or a trial. */
import type { Address, Hex } from "viem";
import { OUTPUT_ACCESS_SECONDS, type OutputRequest, outputAccessTypes } from "../../protocol/dispatch.ts";
import { type Assignment, escrowDomain } from "../../protocol/messages.ts";
import { jobDigests } from "../../shared/keccak.ts";
import type { SigningAccount } from "../../shared/secp256k1.ts";

/** The contract that signatures are for. */
export type SigningDomain = { chainId: number; escrow: Address };
/** With the gateway's key. */
export type Signing = SigningDomain & { account: Pick<SigningAccount, "sign" | "signTypedData"> };

/** Shows a worker that this gateway asks now, for the answer of a job or for a trial. */
export async function signAccess(
  { account, chainId, escrow }: Signing,
  { jobId, worker }: { jobId: Hex; worker: Address },
): Promise<OutputRequest["access"]> {
  const expiresAt = Math.floor(Date.now() / 1000) + OUTPUT_ACCESS_SECONDS;
  const signature = await account.signTypedData({
    domain: escrowDomain(chainId, escrow),
    types: outputAccessTypes,
    primaryType: "OutputAccess",
    message: { jobId, worker, expiresAt },
  });
  return { expiresAt, signature };
}

/** Signs a job's offer to one worker. */
export function signAssignment({ account, chainId, escrow }: Signing, assignment: Assignment): Promise<Hex> {
  return account.sign({ hash: jobDigests(chainId, escrow).assignment(assignment) });
}
