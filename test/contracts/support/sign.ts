/** Messages of a job, signed by protocol/messages.ts: what the tests accept is what gateways and workers send. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { getAddress, type Hex, zeroHash } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import {
  type Acknowledgement,
  type Assignment,
  type Authorization,
  authorizationTypes,
  type Completion,
  compactSignature,
  type DisputeRequest,
  disputeRequestTypes,
  escrowDomain,
  jobMessageTypes,
} from "../../../protocol/messages.ts";
import { CHAIN_ID } from "./world.ts";

export type Signature = { r: Hex; vs: Hex };
type Escrow = { getAddress(): Promise<string> };

/** For calls that do not look at a signature. */
export const NO_SIGNATURE: Signature = { r: zeroHash, vs: zeroHash };

/** One above half the order of the curve: no signature may have it. */
export const HIGH_S: Hex = "0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a1";

/** EIP-2612, for `signTypedData`. */
export const PERMIT_TYPES = {
  Permit: [
    { name: "owner", type: "address" },
    { name: "spender", type: "address" },
    { name: "value", type: "uint256" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
};

export async function signAssignment(
  escrow: Escrow,
  gateway: HardhatEthersSigner,
  message: Assignment,
): Promise<Signature> {
  const domain = await domainOf(escrow);
  const types = { Assignment: [...jobMessageTypes.Assignment] };
  return compactSignature((await gateway.signTypedData(domain, types, message)) as Hex);
}

type Messages = {
  Acknowledgement: Acknowledgement;
  Completion: Completion;
  Authorization: Authorization;
  DisputeRequest: DisputeRequest;
};

const signer =
  <T extends keyof Messages>(primaryType: T) =>
  async (escrow: Escrow, key: PrivateKeyAccount, message: Messages[T]): Promise<Signature> => {
    const types = { ...jobMessageTypes, ...authorizationTypes, ...disputeRequestTypes };
    const typed = { domain: await domainOf(escrow), types, primaryType, message };
    return compactSignature(await key.signTypedData(typed as Parameters<typeof key.signTypedData>[0]));
  };
export const signAcknowledgement = signer("Acknowledgement");
export const signCompletion = signer("Completion");
export const signAuthorization = signer("Authorization");
export const signDisputeRequest = signer("DisputeRequest");

async function domainOf(escrow: Escrow) {
  return escrowDomain(CHAIN_ID, getAddress(await escrow.getAddress()));
}
