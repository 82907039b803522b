import {
  type Address,
  createPublicClient,
  createWalletClient,
  type Hex,
  http,
  type PrivateKeyAccount,
  parseEther,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { inferenceEscrowAbi, testStablecoinAbi } from "../../protocol/generated/abi.ts";
import { toUnits } from "../../protocol/money.ts";
import type { Stack } from "./stack.ts";

/** Buys credits for a wallet, from its first gas to its deposit. */
export async function depositFor(
  stack: Stack,
  owner: PrivateKeyAccount,
  credits: number,
  funderKey: Hex,
): Promise<void> {
  const transport = http(stack.info.rpc_url);
  const client = createPublicClient({ transport, pollingInterval: 50 });
  const funder = createWalletClient({ account: privateKeyToAccount(funderKey), transport });
  const wallet = createWalletClient({ account: owner, transport });
  const { InferenceEscrow, Stablecoin } = stack.info.contracts as Record<string, Address>;
  const coin = { address: Stablecoin as Address, abi: testStablecoinAbi, chain: null } as const;
  const mined = async (hash: Hex) => {
    const receipt = await client.waitForTransactionReceipt({ hash });
    if (receipt.status !== "success") throw new Error(`transaction ${hash} reverted`);
  };
  await mined(await funder.sendTransaction({ to: owner.address, value: parseEther("1"), chain: null }));
  await mined(await funder.writeContract({ ...coin, functionName: "mint", args: [owner.address, toUnits(credits)] }));
  await mined(
    await wallet.writeContract({
      ...coin,
      functionName: "approve",
      args: [InferenceEscrow as Address, toUnits(credits)],
    }),
  );
  const deposit = {
    address: InferenceEscrow as Address,
    abi: inferenceEscrowAbi,
    functionName: "deposit",
    args: [credits],
  } as const;
  await mined(await wallet.writeContract({ ...deposit, chain: null }));
}
