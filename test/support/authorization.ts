import { createHash } from "node:crypto";
import type { Address, Hex, LocalAccount } from "viem";
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import { type Authorization, authorizationTypes, escrowDomain } from "../../protocol/messages.ts";
import { OPERATOR } from "../../scripts/dev/wallets.ts";
import type { KnownStack } from "./api-client.ts";

/** What is signed: the wallet, the model's number in the catalog, and whatever else a test changes. */
type Signed = Partial<Authorization> & { wallet: Address; model: number };

/** The header `x-service-authorization` for a body, signed by `signer`. */
export async function signAuthorization(
  { info }: KnownStack,
  signer: LocalAccount,
  body: string,
  signed: Signed,
): Promise<string> {
  const message: Authorization = {
    jobId: newJobId(),
    operator: OPERATOR,
    maxTokens: 2_000,
    maxCredits: 8,
    requestHash: `0x${createHash("sha256").update(body).digest("hex")}`,
    expiresAt: Math.floor(Date.now() / 1000) + 300,
    ...signed,
  };
  const domain = escrowDomain(info.chain_id, info.contracts["InferenceEscrow"] as Hex);
  const types = authorizationTypes;
  const signature = await signer.signTypedData({ domain, types, primaryType: "Authorization", message });
  const { jobId, maxTokens, maxCredits, expiresAt } = message;
  return `job_id=${toApiJobId(jobId)};max_tokens=${maxTokens};max_credits=${maxCredits};expires_at=${expiresAt};signature=${signature}`;
}
