import { type Address, createPublicClient, createWalletClient, http, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { DEPLOYER_KEY } from "../../../scripts/local-stack/accounts.ts";
import { mined } from "../../support/mined.ts";
import type { Stack } from "../../support/stack.ts";

/** Gives a fresh wallet something to pay gas with. */
export async function giveGas(stack: Stack, to: Address): Promise<void> {
  const transport = http(stack.info.rpc_url);
  const funder = createWalletClient({ account: privateKeyToAccount(DEPLOYER_KEY), transport });
  const hash = await funder.sendTransaction({ to, value: parseEther("1"), chain: null });
  await mined(createPublicClient({ transport }), hash);
}
