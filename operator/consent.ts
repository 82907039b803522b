import type { Address, Hex, LocalAccount } from "viem";
import { escrowDomain, signerConsentTypes } from "../protocol/messages.ts";

/** A gateway key's consent to sign for an operator with this admin, 65 bytes. */
export async function signConsent(
  key: LocalAccount,
  { chainId, escrow }: { chainId: number; escrow: Address },
  message: { operator: number; admin: Address },
): Promise<Hex> {
  const domain = escrowDomain(chainId, escrow);
  return await key.signTypedData({ domain, types: signerConsentTypes, primaryType: "SignerConsent", message });
}
