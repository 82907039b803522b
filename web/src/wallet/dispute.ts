import type { Hex } from "viem";
import { readContract } from "wagmi/actions";
import { fromProofHash } from "../../../protocol/answer-hash.ts";
import { toUnits } from "../../../protocol/money.ts";
import type { DisputeFacts, OpenDispute } from "../explorer/dispute-facts.ts";
import { approve, type ContractContext, escrowOf, tokenAllowance } from "./ledger.ts";
import { transact } from "./transact.ts";

/** Credits a wallet puts up for a dispute of its own (`DISPUTE_BOND`). */
export const BOND = 100;

/**
 * Opens a dispute without the service: the wallet's own transaction, with what the worker signed in it. Free credits are the bond; what
 * they lack is bought in the same transaction, for which the wallet approves the tokens first.
 */
export async function openDispute(
  context: ContractContext,
  { signed, freeBefore }: DisputeFacts,
  receivedHash: string,
): Promise<Hex> {
  const { wallet, app, account, onProgress } = context;
  if (signed === null) throw new Error("The chain shows no proof of this job yet. Try again in a moment.");
  if (freeBefore === null) await coverBond(context);
  const args = [fromProofHash(receivedHash), signed.completion, signed.signature];
  return await transact(wallet, account, { ...escrowOf(app), functionName: "openDispute", args }, onProgress);
}

async function coverBond(context: ContractContext): Promise<void> {
  const { wallet, app, account } = context;
  const { free } = await readContract(wallet, { ...escrowOf(app), functionName: "accountOf", args: [account] });
  const missing = toUnits(Math.max(0, BOND - free));
  if (missing > (await tokenAllowance(wallet, app, account))) await approve(context, missing);
}

/** Adds the wallet's own hash to its operator's dispute. */
export function joinDispute(
  { wallet, app, account, onProgress }: ContractContext,
  { jobId }: OpenDispute,
  receivedHash: string,
): Promise<Hex> {
  const call = { ...escrowOf(app), functionName: "joinDispute", args: [jobId, fromProofHash(receivedHash)] };
  return transact(wallet, account, call, onProgress);
}
