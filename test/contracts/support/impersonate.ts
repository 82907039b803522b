/** Calls in the name of a contract, to show what it would be told if it ever made them. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { ethers, networkHelpers } from "./chain.ts";

/** A signer for a contract's address, with ether for its gas. */
export async function actingAs(contract: { getAddress(): Promise<string> }): Promise<HardhatEthersSigner> {
  const address = await contract.getAddress();
  await networkHelpers.impersonateAccount(address);
  await networkHelpers.setBalance(address, 10n ** 18n);
  return await ethers.getSigner(address);
}
