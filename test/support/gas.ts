import { type Address, createTestClient, http, type LocalAccount, parseEther, publicActions } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { KnownStack } from "./api-client.ts";

/** Gives a wallet something to pay gas with. No account pays for it, so files that run side by side cannot take each other's nonce. */
export async function giveGas(stack: KnownStack, to: Address, ether = "1"): Promise<void> {
  const chain = createTestClient({ mode: "anvil", transport: http(stack.info.rpc_url) }).extend(publicActions);
  await chain.setBalance({ address: to, value: (await chain.getBalance({ address: to })) + parseEther(ether) });
}

/** A fresh account that can pay gas. */
export async function richAccount(stack: KnownStack): Promise<LocalAccount> {
  const account = privateKeyToAccount(generatePrivateKey());
  await giveGas(stack, account.address, "100");
  return account;
}
