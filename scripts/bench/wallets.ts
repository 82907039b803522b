import { pino } from "pino";
import { type Address, createPublicClient, createWalletClient, type Hex, http, parseEther } from "viem";
import { generatePrivateKey, nonceManager, privateKeyToAccount } from "viem/accounts";
import { Keys } from "../../api/accounts/keys.ts";
import { openDatabase } from "../../api/store/database.ts";
import { inferenceEscrowAbi, testStablecoinAbi } from "../../protocol/generated/abi.ts";
import { toUnits } from "../../protocol/money.ts";
import type { Stack } from "../local-stack/stack.ts";

/** First development account of every local chain; worth nothing anywhere else. */
const FUNDER = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

/** Opens `count` funded accounts, as many clients as a batch has jobs, and returns their API keys. */
export async function openAccounts(stack: Stack, count: number, credits: number): Promise<string[]> {
  const transport = http(stack.info.rpc_url);
  const client = createPublicClient({ transport, pollingInterval: 50 });
  const { InferenceEscrow, Stablecoin } = stack.info.contracts as Record<string, Address>;
  const escrow = { address: InferenceEscrow as Address, abi: inferenceEscrowAbi, chain: null } as const;
  const coin = { address: Stablecoin as Address, abi: testStablecoinAbi, chain: null } as const;
  const funder = createWalletClient({ account: privateKeyToAccount(FUNDER, { nonceManager }), transport });
  const mined = async (hash: Hex) => {
    const { status } = await client.waitForTransactionReceipt({ hash });
    if (status !== "success") throw new Error(`transaction ${hash} reverted while a wallet was funded`);
  };
  const pool = openDatabase(stack.info.database_url as string, pino({ level: "silent" }), 4);
  const keys = new Keys(pool);
  const units = toUnits(credits);
  const open = async (): Promise<string> => {
    const owner = privateKeyToAccount(generatePrivateKey());
    const wallet = createWalletClient({ account: owner, transport });
    await mined(await funder.sendTransaction({ to: owner.address, value: parseEther("1"), chain: null }));
    await mined(await funder.writeContract({ ...coin, functionName: "mint", args: [owner.address, units] }));
    await mined(
      await wallet.writeContract({ ...coin, functionName: "approve", args: [InferenceEscrow as Address, units] }),
    );
    await mined(await wallet.writeContract({ ...escrow, functionName: "deposit", args: [credits] }));
    return keys.regenerate(owner.address);
  };
  try {
    return await Promise.all(Array.from({ length: count }, open));
  } finally {
    await pool.end();
  }
}
