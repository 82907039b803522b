import { type Address, createPublicClient, createWalletClient, http, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { DEPLOYER_KEY } from "../../../scripts/dev/wallets.ts";
import type { KnownStack } from "../../support/api-client.ts";
import { mined } from "../../support/mined.ts";

/** Gives a fresh wallet something to pay gas with. */
export async function giveGas(stack: KnownStack, to: Address): Promise<void> {
  const transport = http(stack.info.rpc_url);
  const funder = createWalletClient({ account: privateKeyToAccount(DEPLOYER_KEY), transport });
  const hash = await funder.sendTransaction({ to, value: parseEther("1"), chain: null });
  await mined(createPublicClient({ transport }), hash);
}
