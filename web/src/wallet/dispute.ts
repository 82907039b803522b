import type { Hex } from "viem";
import { type Completion, compactSignature } from "../../../protocol/messages.ts";
import { fromProofHash } from "../../../protocol/proof-hash.ts";
import { call } from "../data/client.ts";
import { type ContractContext, escrowOf } from "./deposit.ts";
import { transact } from "./transact.ts";

/** Credits a wallet puts up for a dispute of its own (`DisputeOpening.BOND`). */
export const BOND = 100;

/** What the worker signed, as it comes with every answer. */
type Kept = { service: { completion: Completion; signature: Hex } };

/** Opens a dispute without the service: the wallet's own transaction, with the worker's signed statement in it. */
export async function openDispute(
  { wallet, app, account, onProgress }: ContractContext,
  jobId: string,
  receivedHash: string,
): Promise<Hex> {
  const { service } = await call<Kept>("GET", `/jobs/${jobId}/output`);
  const args = [fromProofHash(receivedHash), service.completion, compactSignature(service.signature)];
  return await transact(wallet, account, { ...escrowOf(app), functionName: "openDispute", args }, onProgress);
}
